// What crosses to WebAssembly (src/core/wire.def), by its raw calls. Every answer has the declared fields with the declared types. Options that
// are never read, unknown words and values of a wrong type are errors.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createPlain, type WireSeam } from '../../web/host/plain_module.js';
import { modelHandle, tokenizerHandle } from '../../web/host/text_calls.js';
import type { Instance } from '../../web/host/wasm_loader.js';
import type { SeamModel } from '../../web/host/seam.js';
import { filesOf, goldens, root, tiny } from './support.js';

const wire = readFileSync(join(root, 'src/core/wire.def'), 'utf8');

interface Field {
  kind: string;
  maybe: boolean;
}
/** The fields of each answer, those of its base included. */
const kAnswers = new Map<string, Map<string, Field>>([['Answer', new Map()]]);
/** The members of each block of options. */
const kOptions = new Map<string, Map<string, string>>();
const kWords = new Map<string, string[]>();
const kCallsOf = new Map<string, { answer: string; options: string | undefined }>();
{
  let fields = new Map<string, Field>();
  let members = new Map<string, string>();
  let words: string[] = [];
  for (const [, macro, inside] of wire.matchAll(/^WIRE_(\w+?)\((.*?)\)(?=\s|$)/gm)) {
    const [name, second] = (inside as string).split(', ') as [string, string];
    if (macro === 'ANSWER') kAnswers.set(name, (fields = new Map(kAnswers.get(second))));
    if (macro === 'FIELD' || macro === 'MAYBE') fields.set(name, { kind: second, maybe: macro === 'MAYBE' });
    if (macro === 'OPTIONS') kOptions.set(name, (members = new Map()));
    if (macro === 'OPTION' || macro === 'MUST') members.set(name, second);
    if (macro === 'ENUM') kWords.set(name, (words = []));
    if (macro === 'WORD') words.push(second.slice(1, -1));
    if (/MODEL_CALL$/.test(macro as string)) {
      const options = (inside as string).split(', ').find((argument) => argument.endsWith(' options'));
      kCallsOf.set(name, { answer: second, options: options?.split(' ')[0] });
    }
  }
}

const kClasses: Record<string, string> = {
  number: 'Number',
  flag: 'Boolean',
  text: 'String',
  words: 'Array',
  bytes: 'Uint8Array',
  ints: 'Int32Array',
  floats: 'Float32Array',
  doubles: 'Float64Array',
};
/** The kind that a declared kind of a field has as a value. */
const classOf = (kind: string) => kClasses[kind] ?? (kind.startsWith('lists_of_') || kind.endsWith('[]') ? 'Array' : 'String');
const tag = (value: unknown) => Object.prototype.toString.call(value).slice(8, -1);

const seen = new Set<string>();
/** Every call of a handle is checked against its declaration. */
function watched(handle: SeamModel): SeamModel {
  return new Proxy(handle, {
    get(target, name: string) {
      const call = target[name as 'info'] as unknown as (...given: unknown[]) => Record<string, unknown>;
      const declared = kCallsOf.get(name);
      if (!declared) return call;
      return (...given: unknown[]) => {
        const answer = call(...given);
        if (answer['code'] !== 0) return answer;
        seen.add(name);
        const fields = new Map(kAnswers.get(name === 'run' ? 'EmbedAnswer' : declared.answer));
        const { code: _code, message: _message, ...found } = answer;
        for (const [field, value] of Object.entries(found)) {
          const kind = fields.get(field)?.kind;
          expect([name, field, kind && classOf(kind)]).toEqual([name, field, tag(value)]);
          if (kind && kWords.has(kind.replace('[]', ''))) {
            for (const word of [value].flat()) expect(kWords.get(kind.replace('[]', ''))).toContain(word);
          }
        }
        const isUnfinished = found['more'] === true;
        const missing = [...fields].filter(([field, { maybe }]) => !maybe && !Object.hasOwn(found, field)).map(([field]) => field);
        if (!isUnfinished) expect([name, missing]).toEqual([name, []]);
        return answer;
      };
    },
  });
}

const compiled = WebAssembly.compile(readFileSync(join(root, 'dist/wattn-full-simd.wasm')));
async function instance(): Promise<Instance> {
  const memory = new WebAssembly.Memory({ initial: 64, maximum: 65536 });
  const module = await compiled;
  let exports: WebAssembly.Exports = {};
  const seam = await createPlain<WireSeam>({
    wasmMemory: memory,
    instantiateWasm(imports: WebAssembly.Imports, receive: (made: WebAssembly.Instance) => void) {
      void WebAssembly.instantiate(module, imports).then((made) => {
        exports = made.exports;
        receive(made);
      });
    },
  });
  return { seam, memory, exports, growth: { refused: false } };
}

async function loaded(folder: string, head: string): Promise<SeamModel> {
  const model = watched(modelHandle(await instance()));
  const files = [...filesOf(folder)];
  const small = files.filter(([name]) => name.endsWith('.json') || name.endsWith('.txt'));
  const options = { precision: 'exact', dtype: 'f32', head, adapted_head: false } as const;
  const begun = model.begin(small, options as any);
  expect(begun).toMatchObject({ code: 0, weight_files: ['model.safetensors'] });
  const bytes = new Map(files).get('model.safetensors') as Uint8Array;
  expect(model.begin_weight_file('model.safetensors', bytes.length)).toEqual({ code: 0, message: '' });
  for (let at = 0; at < bytes.length; at += 7777) {
    expect(model.push(bytes.subarray(at, at + 7777))).toEqual({ code: 0, message: '' });
  }
  expect(model.finish().code).toBe(0);
  return model;
}

const texts = ['a small boat', 'an old bridge over the river'];
/** All that an answer of a forward pass may have. */
const everything = { hidden_states: true, attentions: true, qkv: true, logits: true };
const batch = [
  [5, 6, 7],
  [0, 0, 0],
  [0, 1, 2],
  [0, 3],
] as const;

describe('answers', () => {
  it('have the declared fields, of an encoder', async () => {
    const model = await loaded(tiny, 'none');
    expect(model.describe([...filesOf(tiny)].filter(([name]) => name === 'config.json')).model_type).toBe('bert');
    const info = model.info();
    expect(info.prompt_names.length).toBe(info.prompt_texts.length);
    const { data, dim, unknown } = model.embed(texts, { pooling: ['mean', 'cls'], normalize: true }, 0, 100);
    expect([data.length, unknown.length]).toEqual([2 * dim, 2]);
    const begun = model.embed(texts, {}, 0, 0);
    expect(begun).toMatchObject({ more: true, steps: 0 });
    expect(model.run(begun.job, 100).more).toBe(false);
    expect(model.cancel(model.embed(texts, {}, 0, 0).job).code).toBe(0);
    expect(model.forward(...batch, null, null, null, null, [], [], everything).hidden_states?.length).toBe(
      info.num_hidden_layers + 1,
    );
    expect(model.summary(8).names[0]).toMatch(/embeddings/);
    expect(model.describe_tokenizer().roles.length).toBeGreaterThan(0);
    expect(model.tokens_to_string(['small', 'boat']).text).toBe('small boat');
    expect(model.token_to_id('no such token').id).toBe(-1);
    expect(model.plan().text).toMatch(/layer/);
    const rows = [['a boat', 'a bridge', 'a river', 'a lake'], null, [0, 0, 1, 1], [], false] as const;
    expect(model.train_begin({ method: 'lora', loss: 'SupConLoss', config: '{}', learning_rate: 1e-3 }).code).toBe(0);
    expect(model.train_plan(64, 16, 1, 0).trainable).toBeGreaterThan(0);
    expect(model.train_words(...rows).words).toBeGreaterThan(0);
    expect(model.train_count(...rows).learned).toBe(4);
    expect(model.train_accumulate(...rows, 1).loss).toBeGreaterThan(0);
    expect(model.train_update().step).toBe(1);
    expect(model.train_begin({ method: 'full', loss: 'own_of_vectors', config: '{}', learning_rate: 1e-3 }).code).toBe(0);
    expect(model.train_outputs(...rows, true, true).values.length).toBeGreaterThan(0);
    expect(model.train_drop().code).toBe(0);
    expect(model.train_begin({ method: 'lora', loss: 'SupConLoss', config: '{}', learning_rate: 1e-3 }).code).toBe(0);
    const { state } = model.train_state();
    expect(model.train_set_state(state, 1)).toEqual({ code: 0, message: '' });
    expect(model.train_adapter().names.length).toBe(model.train_adapter().values.length);
    expect(model.checkpoint().shapes[0]?.length).toBeGreaterThan(0);
    model.delete();
  });

  it('have them of a decoder, too', async () => {
    const model = await loaded(join(goldens, 'decoders/llama'), 'own_lm');
    const { sequences, reasons, counts } = model.generate(
      [
        [1, 5, 6],
        [1, 7],
      ],
      { max_new_tokens: 3 },
      100,
    );
    expect([sequences.length, reasons.length, Array.from(counts)]).toEqual([2, 2, [1, 1]]);
    const { job } = model.generate([[1, 5, 6]], { max_new_tokens: 3 }, 0);
    expect(model.constrain(new Int32Array(64).fill(-1), [], 0).taken).toBe(0);
    expect(model.end_generation().code).toBe(0);
    expect(model.cancel(job).code).toBe(0);
    const paused = model.generate([[1, 5, 6]], { max_new_tokens: 3, pauses: true }, 1);
    expect(paused.phase).toBe('logits');
    const shown = model.rows();
    expect([Array.from(shown.prompts), shown.rows.length]).toEqual([[0], model.info().vocab_size]);
    expect(model.set_rows(shown.rows).code).toBe(0);
    expect(model.propose([5], 0).code).toBe(0);
    expect(model.cancel(paused.job).code).toBe(0);
    expect(model.rows().code).not.toBe(0); // no generation runs
    const long = Array.from({ length: 40 }, (_, i) => 5 + (i % 20));
    expect(model.generate([long], { max_new_tokens: 1, holds: [3] }, 100).kept_tokens).toBeGreaterThanOrEqual(32);
    const { bytes } = model.save_prefix(long.slice(0, 32));
    expect(model.load_prefix(long.slice(0, 32), bytes, 100).kept).toBe(32);
    expect(model.release_prefix(3).code).toBe(0);
    const { lens_ids } = model.forward(...batch, null, null, null, null, [], [], { ...everything, logit_lens: 2 });
    expect(lens_ids?.length).toBeGreaterThan(0);
    model.delete();
  });

  it('are in every call that a model has, or it is named here', () => {
    const others = ['gguf_files', 'make_room_for_helpers', 'use_helpers', 'add_adapter', 'use_adapter', 'delete_adapter', 'merge_adapter', 'predict', 'input_gradient', 'watch_inputs', 'input_moments', 'find_spans', 'token_vectors', 'sparse_vectors', 'blocks_of', 'train_gradient', 'train_evaluate', 'device_batch', 'device_bytes', 'device_forward', 'device_logits', 'device_plan', 'device_read', 'device_rows', 'device_step', 'device_tokens', 'device_weight']; // prettier-ignore
    expect([...kCallsOf.keys()].filter((name) => !seen.has(name)).sort()).toEqual(others.sort());
  });
});

describe('options', () => {
  let model: SeamModel;
  beforeAll(async () => {
    model = await loaded(tiny, 'none');
  });
  const required: Record<string, object> = {
    LoadRequest: { precision: 'exact', dtype: 'f32', head: 'none' },
    TrainOptions: { method: 'lora', loss: 'SupConLoss', config: '{}', learning_rate: 1e-3 },
  };
  /** The answer of the call that reads a block of options. */
  function answerOf(block: string, options: object) {
    const given = { ...required[block], ...options } as any;
    const small = [...filesOf(tiny)].filter(([name]) => name.endsWith('.json'));
    const calls: Record<string, () => { code: number; message: string }> = {
      LoadRequest: () => model.begin(small, given),
      EmbedRequest: () => model.embed(texts, given, 0, 1),
      PredictOptions: () => model.predict(texts, null, given, 1),
      ForwardRequest: () => model.forward(...batch, null, null, null, null, [], [], given),
      GenerateRequest: () => model.generate([[1]], given, 1),
      SpansRequest: () => model.find_spans(texts, ['a'], given, 1),
      TokenVectorsOptions: () => model.token_vectors(texts, given, 1),
      SparseVectorsOptions: () => model.sparse_vectors(texts, given, 1),
      TrainOptions: () => model.train_begin(given),
    };
    return calls[block]!();
  }
  const kState = 5;
  const kFormat = 1;
  const readBlocks = [...new Set([...kCallsOf.values()].flatMap(({ options }) => options ?? []))];

  it('are those of the calls', () => expect(readBlocks.sort()).toEqual([...kOptions.keys()].sort()));

  it.each(readBlocks)('%s: a member that nothing reads is named', (block) => {
    for (const name of ['toString', 'max_lenght', '', '__proto__x']) {
      expect(answerOf(block, { [name]: 1 })).toEqual({ code: kState, message: `options: nothing reads '${name}'` });
    }
    expect(answerOf(block, { unread: null }).message).toBe("options: nothing reads 'unread'");
  });

  it('that are undefined are not given', () => expect(answerOf('EmbedRequest', { unread: undefined }).code).toBe(0));

  const members = [...kOptions].flatMap(([block, of]) => [...of].map(([name, type]) => [block, name, type] as const));
  it.each(members)('%s.%s: another type than %s is refused', (block, name, type) => {
    const ofWords = type.split(' | ').some((each) => kWords.has(each.replace('[]', '')));
    const wrong = type.endsWith('[]') ? [1, 'a', {}, [{}]] : type === 'string' || ofWords ? [1, [], true] : [{}, [], 'a'];
    for (const value of wrong) {
      const { code, message } = answerOf(block, { [name]: value });
      expect([kState, kFormat]).toContain(code);
      expect(message).toMatch(/options/);
    }
    if (!ofWords) return;
    const word = type.endsWith('[]') ? ['no such word'] : 'no such word';
    expect(answerOf(block, { [name]: word })).toMatchObject({
      code: kState,
      message: expect.stringMatching(/known word|unknown head/),
    });
  });

  it.each(members.filter(([, , type]) => kWords.has(type)))('%s.%s knows every word of %s', (block, name, type) => {
    for (const word of kWords.get(type) as string[]) {
      expect(answerOf(block, { [name]: word }).message).not.toMatch(/known word/);
    }
  });

  it.each(Object.entries(required).flatMap(([block, all]) => Object.keys(all).map((name) => [block, name])))(
    '%s.%s must be there',
    (block, name) => {
      const { code, message } = answerOf(block, { [name]: undefined });
      expect([[kState, kFormat].includes(code), message]).toEqual([true, expect.stringMatching(/options|head/)]);
    },
  );
});

describe('memory', () => {
  /** What is asked of a memory of so many bytes that allows so many pages, when C++ wants so many bytes; and what it is told. */
  async function growth(held: number, most: number, wanted: number): Promise<[asked: number[], told: number]> {
    const asked: number[] = [];
    const grow = (pages: number) => {
      asked.push(pages);
      if (held / 65536 + pages > most) throw new RangeError('no more');
      return held / 65536;
    };
    let told = -1;
    await createPlain<WireSeam>({
      wasmMemory: { buffer: { byteLength: held }, grow },
      instantiateWasm({ env }: WebAssembly.Imports, receive: (made: WebAssembly.Instance) => void) {
        told = (env as { emscripten_resize_heap(bytes: number): number }).emscripten_resize_heap(wanted | 0);
        receive({ exports: {} });
      },
    });
    return [asked, told];
  }

  it('grows by a fifth and at most 96 MiB more than is wanted, else by that, else not', async () => {
    const page = 65536;
    expect(await growth(100 * page, 1000, 101 * page)).toEqual([[20], 1]);
    expect(await growth(100 * page, 1000, 200 * page)).toEqual([[100], 1]);
    expect(await growth(20_000 * page, 60_000, 20_001 * page)).toEqual([[1537], 1]);
    expect(await growth(100 * page, 105, 101 * page - 1)).toEqual([[20, 1], 1]);
    expect(await growth(100 * page, 100, 101 * page)).toEqual([[20, 1], 0]);
    expect(await growth(60_000 * page, 65_535, 2 ** 32 - 1)).toEqual([[7072, 5536], 0]); // above 2 GiB, sizes come signed
  });
});

describe('arguments', () => {
  it('cross as they are: texts of all kinds, none, and many', async () => {
    const tokenizer = tokenizerHandle(await instance());
    expect(tokenizer.load([...filesOf(tiny)].filter(([name]) => /\.(json|txt)$/.test(name)))).toEqual({ code: 0, message: '' });
    expect(tokenizer.describe().vocab_size).toBeGreaterThan(0);
    expect(tokenizer.load([['tokenizer.json', new Uint8Array()]]).code).toBe(kBadFile);
    tokenizer.delete();
    const model = await loaded(tiny, 'none');
    const { data, dim } = model.embed(['', 'Brücke 橋 🚢', 'a\ud83d', 'a small boat '.repeat(6000)], {}, 0, 100);
    expect(data.length).toBe(4 * dim);
    expect(model.embed([], {}, 0, 100)).toMatchObject({ code: 0, more: false });
    expect(model.token_to_id('橋').code).toBe(0);
    expect(model.tokens_to_string([]).text).toBe('');
    model.delete();
  });
  const kBadFile = 1;
});
