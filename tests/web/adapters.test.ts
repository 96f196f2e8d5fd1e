// PEFT adapters: results match Python's (tools/goldens/adapters.py).
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import type { ServerResponse } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  AutoModel,
  AutoModelForCausalLM,
  AutoModelForSeq2SeqLM,
  AutoModelForSequenceClassification,
  AutoModelForTokenClassification,
  pipeline,
  save_adapter,
  Tensor,
} from 'wattn';
import { linesOf, wattn } from './cli_support.js';
import {
  expectError,
  expectNear,
  filesOf,
  goldens,
  headFiles,
  largestDifference,
  readJson,
  serveHub,
  tinyFiles,
  turn,
  until,
  type Files,
} from './support.js';

const folder = (name: string) => join(goldens, 'peft', name);
const adapterFiles = (name: string) => filesOf(folder(name));
const cases: any[] = readJson('peft/cases.json');
const caseOf = (name: string) => cases.find((one) => one.name === name);

/** A base model; architectures without a tokenizer get that of the tiny BERT. */
function baseOf(base: string): Files {
  const files = filesOf(join(goldens, base));
  for (const name of ['modules.json', '1_Pooling/config.json']) files.delete(name);
  for (const name of files.has('tokenizer.json') ? [] : ['tokenizer.json', 'tokenizer_config.json'])
    files.set(name, tinyFiles().get(name) as Uint8Array);
  return files;
}

const kClasses: Record<string, any> = {
  Model: AutoModel,
  ForSequenceClassification: AutoModelForSequenceClassification,
  ForTokenClassification: AutoModelForTokenClassification,
  ForCausalLM: AutoModelForCausalLM,
  ForSeq2SeqLM: AutoModelForSeq2SeqLM,
};

/** The outputs of a case's inputs, as in the goldens. */
async function outputs(model: any, one: any, options = {}): Promise<Float32Array[]> {
  const out: Float32Array[] = [];
  for (const ids of one.input_ids) {
    const more = one.class === 'ForSeq2SeqLM' ? { decoder_input_ids: [one.input_ids[0]] } : {};
    const result = await model({ input_ids: [ids], ...more }, options);
    out.push((result.logits ?? result.last_hidden_state).data);
  }
  return out;
}

function expectCase(got: Float32Array[], one: any): void {
  for (const [i, exact] of one.outputs.entries()) expectNear(got[i] as Float32Array, exact, 8 * Math.max(one.f32_diff, 2 ** -22));
}

const load = (one: any, options = {}) => kClasses[one.class].from_pretrained(baseOf(one.base), options);

describe('adapters', () => {
  it.each(cases.map(({ name }) => name))('%s answers as in Python', async (name) => {
    const one = caseOf(name);
    const model = await load(one, { adapter: folder(name) });
    const got = await outputs(model, one);
    expectCase(got, one);
    await model.merge_and_unload();
    expect(await model.active_adapters()).toEqual([]);
    expectCase(await outputs(model, one), one);
    await model.dispose();
  });

  it.each(['f16', 'q16', 'q8', 'q4'])('add their product to that of %s weights', async (dtype) => {
    for (const name of ['bert', 'llama', 'gpt2', 't5']) {
      const one = caseOf(name);
      const [exact, model] = await Promise.all([load(one), load(one, { dtype, adapter: folder(name) })]);
      const [base, adapted] = [await outputs(model, one, { adapter: false }), await outputs(model, one)];
      const plain = await outputs(exact, one);
      // About as near to Python's answers as the base without the adapter is to its own; the exact term is tested in
      // tests/native/ops/lora_test.cpp.
      base.forEach((values, i) => {
        const rounding = largestDifference(values, plain[i] as Float32Array);
        const apart = largestDifference(adapted[i] as Float32Array, one.outputs[i]);
        expect(apart).toBeLessThan(6 * rounding + 1e-4);
        if (dtype !== 'q4') expect(apart).toBeLessThan(one.changes / 3); // 4 bits are few for models this small
      });
      await Promise.all([exact.dispose(), model.dispose()]);
    }
  });

  it('leave the model as it was', async () => {
    const one = caseOf('bert-all'); // it changes biases and norms too
    const [plain, model] = await Promise.all([load(one), load(one)]);
    const before = await outputs(plain, one);
    const { weights } = model.memory();
    await model.load_adapter(folder('bert-all'), 'all');
    expect(model.memory().weights).toBeGreaterThan(weights);
    expectCase(await outputs(model, one), one);
    expect(await outputs(model, one, { adapter: false })).toEqual(before);
    await model.disable_adapters();
    expect(await model.active_adapters()).toEqual([]);
    expect(await outputs(model, one)).toEqual(before);
    await model.enable_adapters();
    expect(await model.active_adapters()).toEqual(['all']);
    expectCase(await outputs(model, one), one);
    await model.delete_adapter('all');
    expect(await outputs(model, one)).toEqual(before);
    expect(model.memory().weights).toBe(weights);
    await Promise.all([plain.dispose(), model.dispose()]);
  });

  it.each([undefined, true, 2])('are chosen by call, worker: %s', async (worker) => {
    const names = ['bert-classes', 'bert-topics'];
    const adapters = Object.fromEntries(names.map((name) => [name, adapterFiles(name)]));
    const model = await load(caseOf('bert-classes'), { worker, adapters });
    expect(await model.active_adapters()).toEqual(['bert-classes']);
    const both = await Promise.all(names.map((name) => outputs(model, caseOf(name), { adapter: name })));
    both.forEach((got, i) => expectCase(got, caseOf(names[i] as string)));
    await model.set_adapter('bert-topics');
    expectCase(await outputs(model, caseOf('bert-topics')), caseOf('bert-topics'));
    await expectError(
      outputs(model, caseOf('bert-topics'), { adapter: 'none' }),
      'InputError',
      /'bert-classes', 'bert-topics', found 'none'/,
    );
    await expectError(
      outputs(model, caseOf('bert-topics'), { adapter: false }),
      'ModelFormatError',
      /expected one with tensor 'classifier.weight', which the model lacks/,
    );
    await model.merge_and_unload();
    expectCase(await outputs(model, caseOf('bert-topics')), caseOf('bert-topics'));
    await model.dispose();
  });

  it('give a pipeline the labels of their heads', async () => {
    const topics = adapterFiles('bert-topics');
    const id2label = { 0: 'sea', 1: 'land', 2: 'air', 3: 'fire', 4: 'time' };
    topics.set('config.json', new TextEncoder().encode(JSON.stringify({ id2label, problem_type: 'multi_label_classification' })));
    const classify: any = await pipeline('text-classification', baseOf('bert-tiny/model'), {
      adapters: { classes: folder('bert-classes'), topics },
    });
    const classes = await classify('a boat', { top_k: null });
    expect(classes.map((one: any) => one.label).sort()).toEqual(['LABEL_0', 'LABEL_1', 'LABEL_2']);
    expect(classes.reduce((sum: number, one: any) => sum + one.score, 0)).toBeCloseTo(1, 6);
    const best = await classify('a boat', { top_k: null, adapter: 'topics' });
    expect(best.map((one: any) => one.label).sort()).toEqual(Object.values(id2label).sort());
    // Calls with different adapters at the same time.
    const texts = Array.from({ length: 40 }, (_, i) => `boat ${i}`);
    const alone = await classify(texts);
    const [a, b] = await Promise.all([classify(texts), classify(texts, { adapter: 'topics' })]);
    expect([...a]).toEqual([...alone]);
    expect(b[0].label).not.toBe(a[0].label);
    await classify.dispose();
  });

  it('change embeddings and generated texts', async () => {
    const embed = await pipeline('feature-extraction', baseOf('bert-tiny/model'));
    const plain = (await embed('a boat', { pooling: 'mean' })).data;
    await embed.load_adapter(folder('bert'));
    const adapted = (await embed('a boat', { pooling: 'mean' })).data;
    expect(largestDifference(plain, adapted)).toBeGreaterThan(0.01);
    expect((await embed('a boat', { pooling: 'mean', adapter: false })).data).toEqual(plain);
    await embed.dispose();
    const generate = await pipeline('text-generation', baseOf('decoders/llama'), { adapter: folder('llama') });
    const options = { max_new_tokens: 12 };
    const [first] = (await generate('The boat', options)) as any;
    const [second] = (await generate('The boat', { ...options, adapter: false })) as any;
    expect(first.tokens).not.toEqual(second.tokens);
    const streamed: string[] = [];
    for await (const piece of generate.stream('The boat', { ...options, adapter: 'default' })) streamed.push(piece);
    expect(`The boat${streamed.join('')}`).toBe(first.generated_text);
    await generate.dispose();
  });

  it('are read from a hub, a URL and files', async () => {
    const hub = await serveHub(adapterFiles('bert'), '/lora/');
    const one = caseOf('bert');
    const model = await load(one, { adapter: `${hub.url}/lora/` });
    expectCase(await outputs(model, one), one);
    await model.dispose();
    await hub.close();
  });
});

describe('adapters that do not fit', () => {
  const config = (change: Record<string, unknown>, name = 'bert') => {
    const files = adapterFiles(name);
    const json = JSON.parse(new TextDecoder().decode(files.get('adapter_config.json')));
    return files.set('adapter_config.json', new TextEncoder().encode(JSON.stringify({ ...json, ...change })));
  };
  let model: any;
  let before: Float32Array[];
  beforeAll(async () => {
    model = await load(caseOf('bert'));
    before = await outputs(model, caseOf('bert'));
  });
  afterEach(async () => {
    expect(await outputs(model, caseOf('bert'))).toEqual(before);
    expect(await model.active_adapters()).toEqual([]);
  });
  afterAll(() => model.dispose());

  it.each([
    [{ peft_type: 'OFT' }, 'peft_type'],
    [{ peft_type: 'PROMPT_TUNING' }, 'peft_type'],
    [{ use_qalora: true }, 'use_qalora'],
    [{ use_dora: true, lora_bias: true }, 'lora_bias'],
    [{ target_parameters: ['experts.down_proj'] }, 'target_parameters'],
    [{ use_no_such_thing: true }, 'use_no_such_thing'],
    [{ new_config: { a: 1 } }, 'new_config'],
    [{ init_lora_weights: 'pissa' }, 'init_lora_weights'],
  ])('%j is refused by name', async (change, field) => {
    await expectError(
      model.load_adapter(config(change)),
      'UnsupportedError',
      new RegExp(`^UnsupportedError: adapter_config.json: ${field}: expected`),
    );
  });

  it.each([
    [
      { use_dora: true },
      /query.lora_A.weight': expected lora_magnitude_vector, as adapter_config.json says use_dora: true, found none/,
    ],
    [{ lora_bias: true }, /query.lora_A.weight': expected lora_B.bias, as adapter_config.json says lora_bias: true, found none/],
    [{ modules_to_save: ['value'] }, /value.lora_A.weight': expected a module that target_modules/],
    [{ r: 5 }, /query.lora_A.weight': expected rank 5 as in adapter_config.json, found 4/],
    [{ target_modules: ['query'] }, /value.lora_A.weight': expected a module that target_modules/],
    [{ layers_to_transform: [0] }, /layer.1.*: expected a module that target_modules/],
    [{ exclude_modules: ['value'] }, /value.lora_A.weight': expected a module/],
    [{ bias: 'some' }, /bias: expected 'none', 'all' or 'lora_only', found 'some'/],
    [{ lora_alpha: 'x' }, /lora_alpha: expected a number, found 'x'/],
  ])('%j is an error', async (change, message) => {
    await expectError(model.load_adapter(config(change)), 'ModelFormatError', message);
  });

  it('a file that is cut off, at every length', async () => {
    const files = adapterFiles('bert');
    const whole = files.get('adapter_model.safetensors') as Uint8Array;
    for (let length = 0; length < whole.length; length += Math.max(1, Math.floor(length / 7))) {
      files.set('adapter_model.safetensors', whole.slice(0, length));
      await expectError(model.load_adapter(files), 'ModelFormatError', /adapter_model.safetensors/);
    }
  });

  it('numbers that are not finite', async () => {
    const files = adapterFiles('bert');
    const bytes = (files.get('adapter_model.safetensors') as Uint8Array).slice();
    bytes.set([0, 0, 0xc0, 0x7f], bytes.length - 4);
    await expectError(
      model.load_adapter(files.set('adapter_model.safetensors', bytes)),
      'ModelFormatError',
      /expected finite numbers, found NaN/,
    );
  });

  it('another base', async () => {
    await expectError(
      model.load_adapter(folder('distilbert')),
      'ModelFormatError',
      /tensor 'pre_classifier.weight': expected a linear layer of the model, found \[24, 24\]/,
    );
    const wider = new Tensor('float32', new Float32Array(2 * 33), [2, 33]);
    const b = new Tensor('float32', new Float32Array(64), [32, 2]);
    const name = 'encoder.layer.0.attention.self.query';
    const files = await save_adapter(
      { [`${name}.lora_A.weight`]: wider, [`${name}.lora_B.weight`]: b },
      { r: 2, target_modules: ['query'] },
    );
    await expectError(
      model.load_adapter(files),
      'ModelFormatError',
      /query.weight': expected \[32, 32\], found LoRA of \[32, 33\]/,
    );
  });

  it('names that are in use, or of nothing', async () => {
    await expectError(model.set_adapter('a'), 'InputError', /set_adapter: expected an adapter: none was loaded, found 'a'/);
    await expectError(model.merge_and_unload(), 'InputError', /merge_and_unload/);
    await expectError(model.delete_adapter('a'), 'InputError', /delete_adapter/);
    await expectError(model.load_adapter(folder('bert'), ''), 'InputError', /expected a name/);
    await model.load_adapter(folder('bert'), 'a');
    await expectError(model.load_adapter(folder('bert'), 'a'), 'InputError', /not in use, found 'a'/);
    await model.delete_adapter('a');
    const both = { adapter: folder('bert'), adapters: { b: folder('bert') } };
    await expectError(load(caseOf('bert'), both), 'InputError', /one of the options 'adapter' and 'adapters', found both/);
    await expectError(
      load(caseOf('bert'), { adapter: join(goldens, 'peft') }),
      'ModelFormatError',
      /adapter_config.json: expected this file/,
    );
  });

  it('without any of its files: the first of them is named, whichever answer is slower', async () => {
    const missing = (response: ServerResponse) => void response.writeHead(404).end('none');
    let config: ServerResponse | undefined; // answered when that of the weights was
    const hub = await serveHub(new Map(), '/', {
      'adapter_config.json': (_, response) => void (config = response),
      'adapter_model.bin': (_, response) => {
        response.on(
          'finish',
          () =>
            void until(() => config !== undefined)
              .then(turn)
              .then(() => missing(config as ServerResponse)),
        );
        missing(response);
      },
    });
    try {
      await expectError(model.load_adapter(hub.url), 'ModelFormatError', /adapter_config.json: expected this file/);
    } finally {
      await hub.close();
    }
  });

  it('a head that neither has', async () => {
    const loading = load(caseOf('bert-classes'), { adapter: folder('bert') });
    await expectError(loading, 'ModelFormatError', /adapter: expected one with tensor 'classifier.weight', which the model lacks/);
  });
});

describe('adapters of few', () => {
  const one = caseOf('bert-embeddings');

  it('say how to load them if the WebAssembly of common models is loaded', async () => {
    const model = await load(one);
    const before = await outputs(model, one);
    const expected = /^UnsupportedError: adapter: tensor '.*_embeddings.weight': expected wattn-full-simd.wasm .* option 'adapter'/;
    await expectError(model.load_adapter(folder(one.name)), 'UnsupportedError', expected);
    expect(await outputs(model, one)).toEqual(before);
    await model.dispose();
  });

  it.each([true, 2])('load in workers: %s', async (worker) => {
    const model = await load(one, { worker, adapters: { few: folder(one.name), common: folder('bert') } });
    expectCase(await outputs(model, one), one);
    expectCase(await outputs(model, caseOf('bert'), { adapter: 'common' }), caseOf('bert'));
    await model.dispose();
  });

  it('are refused once, not loaded again, for what no WebAssembly has', async () => {
    const files = adapterFiles('bert');
    const config = JSON.parse(new TextDecoder().decode(files.get('adapter_config.json')));
    files.set('adapter_config.json', new TextEncoder().encode(JSON.stringify({ ...config, peft_type: 'OFT' })));
    await expectError(load(one, { adapter: files }), 'UnsupportedError', /peft_type: expected one of/);
  });

  it('have the rows of a tied head once, though PEFT writes them twice', async () => {
    const two = caseOf('gpt2-only-tokens');
    const files = adapterFiles(two.name);
    const weights = (files.get('adapter_model.safetensors') as Uint8Array).slice();
    weights.set([0, 0, 0x80, 0x3f], weights.length - 4); // 1
    await expectError(
      load(two, { adapter: files.set('adapter_model.safetensors', weights) }),
      'ModelFormatError',
      /tensor 'transformer.wte.weight'|tensor 'wte.weight'|tensor 'lm_head.weight'/,
    );
  });
});

describe('an adapter as the model', () => {
  const repository = (name: string, change: Record<string, unknown>) => {
    const config = { ...readJson(`peft/${name}/adapter_config.json`), ...change };
    return adapterFiles(name).set('adapter_config.json', new TextEncoder().encode(JSON.stringify(config)));
  };
  const write = (files: Files): string => {
    const place = mkdtempSync(join(tmpdir(), 'wattn-adapter-'));
    for (const [name, bytes] of files) if (!name.includes('/')) writeFileSync(join(place, name), bytes);
    return place;
  };

  it.each([undefined, true])('loads its base from a folder, worker: %s', async (worker) => {
    const one = caseOf('bert-dora');
    const base = write(baseOf(one.base));
    const place = write(repository('bert-dora', { base_model_name_or_path: base }));
    const model = await AutoModel.from_pretrained(place, { worker });
    expectCase(await outputs(model, one), one);
    expect(await model.active_adapters()).toEqual(['default']);
    await model.dispose();
    for (const folder of [base, place]) rmSync(folder, { recursive: true });
  });

  it('says the line to write where its base is not reachable', async () => {
    const files = repository('bert', { base_model_name_or_path: '/no/such' });
    const line = /its base: '\/no\/such'\): load its base model.*: pipeline\(task, base, \{ adapter: the adapter \}\)/;
    await expectError(AutoModel.from_pretrained(files), 'ModelFormatError', line);
    const place = write(files);
    await expectError(
      AutoModel.from_pretrained(place),
      'InputError',
      /'\/no\/such' is the base model that adapter_config.json of '.*' names: if it is elsewhere, load it by pipeline\(task, base/,
    );
    rmSync(place, { recursive: true });
  });
});

describe('save_adapter', () => {
  it('writes files that are read back', async () => {
    const random = (dims: number[]) =>
      new Tensor(
        'float32',
        Float32Array.from({ length: dims[0]! * dims[1]! }, (_, i) => Math.sin(i) / 3),
        dims,
      );
    const module = 'encoder.layer.1.output.dense';
    const tensors = {
      [`${module}.lora_B.weight`]: random([32, 2]),
      [`${module}.lora_A.weight`]: random([2, 64]),
      'classifier.weight': random([2, 32]),
      'classifier.bias': new Tensor('float32', [1, -1], [2]),
    };
    const config = { r: 2, lora_alpha: 4, target_modules: ['output.dense'], task_type: 'SEQ_CLS', modules_to_save: ['classifier'] };
    const files = await save_adapter(tensors, config, { id2label: { 0: 'no', 1: 'yes' } });
    const written = JSON.parse(new TextDecoder().decode(files.get('adapter_config.json')));
    const own = readJson('peft/bert/adapter_config.json');
    expect(Object.keys(written)).toEqual(Object.keys(own)); // PEFT's fields in its order
    expect(written).toEqual({ ...own, ...config, base_model_name_or_path: null });
    const classify = await pipeline('text-classification', baseOf('bert-tiny/model'), { adapter: files });
    expect(['no', 'yes']).toContain((await classify('a boat'))[0]?.label);
    await classify.dispose();
  });

  it("keeps the model's labels where an adapter has no head", async () => {
    const some = (rows: number, columns: number) =>
      new Tensor(
        'float32',
        Float32Array.from({ length: rows * columns }, (_, i) => Math.sin(i)),
        [rows, columns],
      );
    const { id2label, hidden_size, intermediate_size } = readJson('tasks/sequence/config.json');
    const tensors = {
      'encoder.layer.0.output.dense.lora_B.weight': some(hidden_size, 2),
      'encoder.layer.0.output.dense.lora_A.weight': some(2, intermediate_size),
    };
    const files = await save_adapter(tensors, { r: 2, lora_alpha: 4, target_modules: ['output.dense'], task_type: 'SEQ_CLS' });
    const classify: any = await pipeline('text-classification', headFiles('sequence'), { adapter: files });
    const [plain, adapted] = [await classify('a boat', { top_k: null, adapter: false }), await classify('a boat', { top_k: null })];
    const names = (found: any) => found.map((one: any) => one.label).sort();
    expect(names(adapted)).toEqual(Object.values(id2label).sort());
    expect(names(plain)).toEqual(names(adapted));
    expect(adapted).not.toEqual(plain);
    await classify.dispose();
  });

  it('refuses what does not fit', async () => {
    const a = new Tensor('float32', new Float32Array(4), [2, 2]);
    await expectError(
      save_adapter({ 'x.lora_A.weight': a }, { r: 2, target_modules: ['x'] }),
      'InputError',
      /save_adapter: .*no lora_B/,
    );
    await expectError(save_adapter({}, { r: 2, target_modules: ['x'] }), 'InputError', /save_adapter: .*found none/);
    await expectError(save_adapter({}, { rank: 2 } as never), 'InputError', /save_adapter: unknown option 'rank'/);
  });
});

describe('wattn --adapter', () => {
  it('classifies and embeds with an adapter', async () => {
    const base = mkdtempSync(join(tmpdir(), 'wattn-adapter-'));
    for (const [name, bytes] of baseOf('bert-tiny/model')) if (!name.includes('/')) writeFileSync(join(base, name), bytes);
    const [classified] = linesOf(await wattn(['classify', '--model', base, '--adapter', folder('bert-classes'), 'a boat']));
    expect(classified.labels.map((one: any) => one.label).sort()).toEqual(['LABEL_0', 'LABEL_1', 'LABEL_2']);
    const embed = ['embed', '--model', base, '--pooling', 'mean', 'a boat'];
    const [adapted] = linesOf(await wattn([...embed, '--adapter', folder('bert')]));
    const [plain] = linesOf(await wattn(embed));
    expect(adapted.embedding).not.toEqual(plain.embedding);
    rmSync(base, { recursive: true });
  });
});
