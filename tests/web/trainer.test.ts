// Trainer: a tiny BERT is fine-tuned, in this thread and in a worker.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { inspect } from 'node:util';
import { AutoModelForCausalLM, AutoTokenizer, nn, pipeline, Word2Vec } from 'wattn';
import { Trainer, type TrainerOptions, type TrainingReport, type TrainingRow } from 'wattn/train';
import { readTensors } from './safetensors.js';
import { expectError, filesOf, goldens, headFiles, largestDifference, readJson, tiny, tinyFiles } from './support.js';

const kLabelled = [
  ['the river', 'water'],
  ['a boat on the river', 'water'],
  ['the old boat', 'water'],
  ['small birds sing', 'sky'],
  ['the wind and birds', 'sky'],
  ['birds in the wind', 'sky'],
  ['the dark home', 'land'],
  ['an old bridge', 'land'],
  ['home, old and small', 'land'],
].map(([text, label]) => ({ text, label })) as TrainingRow[];
const kPairs = kLabelled.map((row, i) => ({
  anchor: (row as { text: string }).text,
  positive: (kLabelled[i % 3 === 2 ? i - 2 : i + 1] as { text: string }).text,
}));
const kScored = kPairs.map(({ anchor, positive }, i) => ({ sentence1: anchor, sentence2: positive, score: (i % 4) / 3 }));
const kTexts = ['the river', 'birds sing', 'a bridge'];

const load = (options: Partial<TrainerOptions> = {}) =>
  Trainer.from_pretrained(tiny, { task: 'feature-extraction', threads: 1, learning_rate: 0.01, batch_size: 9, ...options });

async function reportsOf(trainer: Trainer, rows: readonly TrainingRow[], options = {}): Promise<TrainingReport[]> {
  const out: TrainingReport[] = [];
  for await (const report of trainer.fit(rows, options)) out.push(report);
  return out;
}
const vectorsOf = async (trainer: Trainer) => [...(await trainer.embed(kTexts)).data];

describe('Trainer', () => {
  for (const [name, rows] of Object.entries({ labelled: kLabelled, anchors: kPairs, scored: kScored })) {
    it(`lowers the loss of ${name} rows, by each method`, async () => {
      for (const method of ['lora', 'full', 'last_layers'] as const) {
        const trainer = await load({ method, max_steps: 12, last_layers: 1 });
        const before = await vectorsOf(trainer);
        const reports = await reportsOf(trainer, rows);
        expect(reports.map(({ step }) => step)).toEqual(Array.from({ length: 12 }, (_, i) => i + 1));
        const losses = reports.map(({ loss }) => loss);
        expect(losses[11]).toBeLessThan(0.9 * (losses[0] as number));
        expect(largestDifference(await vectorsOf(trainer), before)).toBeGreaterThan(1e-3);
        expect(reports[0]).toMatchObject({ max_steps: 12, epoch: 1 });
        for (const { grad_norm, tokens, seconds_left } of reports)
          expect([grad_norm > 0, tokens > 18, seconds_left >= 0]).toEqual([true, true, true]);
        await trainer.dispose();
      }
    });
  }

  it('gives the same bits in a worker, with threads, and from the state of a run that ended early', async () => {
    for (const method of ['lora', 'full'] as const) {
      const run = async (options: Partial<TrainerOptions>) => {
        const trainer = await load({ method, max_steps: 6, ...options });
        const reports = await reportsOf(trainer, kLabelled);
        const result = [reports.map(({ loss }) => loss), await vectorsOf(trainer)];
        await trainer.dispose();
        return result;
      };
      const expected = await run({});
      expect(await run({ worker: true })).toEqual(expected);
      expect(await run({ threads: 2 })).toEqual(expected);
      expect(await run({ checkpointing: true })).toEqual(expected);
      const dropped = await run({ dropout: true });
      expect(dropped).not.toEqual(expected);
      expect(await run({ dropout: true, checkpointing: true, threads: 2 })).toEqual(dropped);
      expect(await run({ seed: 1 })).not.toEqual(expected);

      const first = await load({ method, max_steps: 6 });
      const controller = new AbortController();
      const losses: number[] = [];
      for await (const { step, loss } of first.fit(kLabelled, { signal: controller.signal })) {
        losses.push(loss);
        if (step === 2) controller.abort();
      }
      expect(losses.length).toBe(2);
      const state = await first.state();
      await first.dispose();
      const second = await load({ method, max_steps: 6 });
      const rest = await reportsOf(second, kLabelled, { resume_from_checkpoint: state });
      expect([[...losses, ...rest.map(({ loss }) => loss)], await vectorsOf(second)]).toEqual(expected);
      await second.dispose();
      const other = await load({ method, max_steps: 7 });
      await expectError(reportsOf(other, kLabelled, { resume_from_checkpoint: state }), 'StateError', /max_steps was 6 and is 7/);
      await other.dispose();
    }
  });

  it('goes on after a loop that was left', async () => {
    const [whole, parts] = [await load({ max_steps: 5 }), await load({ max_steps: 5 })];
    await reportsOf(whole, kLabelled);
    for await (const { step } of parts.fit(kLabelled)) if (step === 3) break;
    expect((await reportsOf(parts, kLabelled)).map(({ step }) => step)).toEqual([4, 5]);
    expect(await vectorsOf(parts)).toEqual(await vectorsOf(whole));
    await expectError(reportsOf(parts, kPairs), 'InputError', /the labels and the loss of the run that stopped/);
    await Promise.all([whole.dispose(), parts.dispose()]);
  });

  it('trains when it is awaited, once, with the bits of a loop', async () => {
    const [looped, awaited] = [await load({ max_steps: 4 }), await load({ max_steps: 4 })];
    const reports = await reportsOf(looped, kLabelled);
    const work = awaited.fit(kLabelled);
    const last = { ...reports[3], seconds_left: expect.any(Number) };
    await expectError(awaited.fit(kLabelled).then(), 'StateError', /another fit of this Trainer has not ended/);
    expect(await Promise.all([work, work])).toEqual([last, last]);
    expect(await work).toEqual(last);
    expect(await vectorsOf(awaited)).toEqual(await vectorsOf(looped));
    expect(await awaited.fit(kLabelled)).toBeUndefined(); // there is nothing left to do
    await expectError(awaited.fit([]).then(), 'InputError', /expected rows, found none/);
    await Promise.all([looped.dispose(), awaited.dispose()]);
  });

  it('waits for the loop that watches it', async () => {
    const trainer = await load({ max_steps: 4 });
    const seen: number[][] = [];
    for await (const { step } of trainer.fit(kLabelled)) {
      await new Promise((resolve) => setTimeout(resolve, 20)); // time for updates that would not wait
      const [done] = nn.load_safetensors(await trainer.state())['steps']!.data as Int32Array;
      seen.push([step, done as number]);
    }
    expect(seen).toEqual([[1, 1], [2, 2], [3, 3], [4, 4]]); // prettier-ignore
    await trainer.dispose();
  });

  it('says what memory cannot hold', async () => {
    for (const r of [1e6, 1e8, 2 ** 31 - 1]) {
      const trainer = await load({ r });
      await expectError(trainer.fit(kLabelled).then(), 'OutOfMemoryError', /matrices of LoRA: needs \d{11,} bytes/);
      expect((await trainer.embed('the river')).dims).toEqual([1, 32]); // it still works
      await trainer.dispose();
    }
    const trainer = await load();
    await expectError(trainer.plan({ batch: 2 ** 31 - 1, tokens: 2 }), 'InputError', /fewer than 2\^31 tokens/);
    await trainer.dispose();
    const huge = Word2Vec.train(['a b c d e', 'a b'], { min_count: 1, vector_size: 1e8 });
    await expectError(huge, 'OutOfMemoryError', /word vectors: needs 6000000064 bytes/);
  });

  it('divides a batch into parts, within which texts are compared', async () => {
    const lossesOf = async (parts: number) => {
      const trainer = await load({ max_steps: 2, batch_size: 8, gradient_accumulation_steps: parts });
      const reports = await reportsOf(trainer, kPairs.slice(0, 8));
      await trainer.dispose();
      return reports.map(({ loss }) => loss);
    };
    expect(await lossesOf(8)).toEqual([0, 0]); // an anchor whose own positive is the only one
    const [whole, halves] = [await lossesOf(1), await lossesOf(2)];
    expect(halves[0]).toBeGreaterThan(0.1);
    expect(halves[0]).toBeLessThan((whole[0] as number) - 0.1); // fewer wrong ones
  });

  it('adds the gradients of parts of a batch', async () => {
    const rows = kScored.slice(0, 8);
    const run = async (parts: number) => {
      const trainer = await load({ loss: 'CosineSimilarityLoss', max_steps: 3, batch_size: 8, gradient_accumulation_steps: parts });
      const reports = await reportsOf(trainer, rows);
      await trainer.dispose();
      return reports.map(({ loss }) => loss);
    };
    const [whole, parts] = [await run(1), await run(4)];
    expect(largestDifference(parts, whole)).toBeLessThan(1e-5);
  });

  it('names the base of an adapter where Python can find it', async () => {
    const baseOf = async (model: any) => {
      const trainer = await Trainer.from_pretrained(model, { task: 'feature-extraction', threads: 1, max_steps: 1 });
      await reportsOf(trainer, kLabelled);
      const { 'adapter_config.json': config } = await trainer.save();
      await trainer.dispose();
      return JSON.parse(new TextDecoder().decode(config)).base_model_name_or_path;
    };
    expect(await baseOf(tiny)).toBe(tiny);
    expect(await baseOf(filesOf(tiny))).toBeNull();
  });

  it('saves an adapter with the names and shapes of PEFT', async () => {
    const trainer = await load({ max_steps: 2, r: 4, target_modules: ['query', 'output.dense'] });
    await reportsOf(trainer, kLabelled);
    const files = await trainer.save();
    expect(Object.keys(files).sort()).toEqual(['adapter_config.json', 'adapter_model.safetensors']);
    const config = JSON.parse(new TextDecoder().decode(files['adapter_config.json']));
    expect(config).toMatchObject({
      peft_type: 'LORA',
      r: 4,
      lora_alpha: 8,
      target_modules: ['query', 'output.dense'],
      bias: 'none',
    });
    const tensors = nn.load_safetensors(files['adapter_model.safetensors'] as Uint8Array);
    const layers = new Set(Object.keys(tensors).map((name) => /layer\.(\d+)/.exec(name)?.[1]));
    expect(Object.keys(tensors).length).toBe(layers.size * 3 * 2);
    const a = tensors['base_model.model.encoder.layer.0.attention.self.query.lora_A.weight'];
    const b = tensors['base_model.model.encoder.layer.0.attention.self.query.lora_B.weight'];
    expect([a?.dims[0], b?.dims[1]]).toEqual([4, 4]);
    expect(b?.data.some((x) => x !== 0)).toBe(true);
    await trainer.dispose();
  });

  it('names what PEFT would find too, and is no part of the adapter', async () => {
    const excludedOf = async (options: Partial<TrainerOptions>, rows: readonly TrainingRow[] = kLabelled) => {
      const trainer = await load({ max_steps: 1, ...options });
      await trainer.fit(rows);
      const files = await trainer.save();
      const task = options.task === 'text-classification' ? 'text-classification' : 'feature-extraction';
      if (options.task !== 'token-classification') await (await pipeline(task, tiny, { adapter: files } as object)).dispose();
      await trainer.dispose();
      return JSON.parse(new TextDecoder().decode(files['adapter_config.json'])).exclude_modules;
    };
    for (const target_modules of ['all-linear', ['query', 'dense']] as const) {
      expect(await excludedOf({ target_modules })).toEqual(['pooler.dense']);
    }
    expect(await excludedOf({ task: 'text-classification', loss: 'CrossEntropyLoss', target_modules: 'all-linear' })).toEqual([
      'pooler.dense',
    ]);
    const tagged = [{ tokens: ['a', 'boat'], ner_tags: ['O', 'B-X'] }];
    expect(await excludedOf({ task: 'token-classification', target_modules: 'all-linear' }, tagged)).toBe(null); // has no pooler
    expect(await excludedOf({ target_modules: ['query', 'output.dense'] })).toBe(null);
  });

  it.each([false, true])(
    'saves a whole model that differs in what was trained alone (freeze_embeddings: %s)',
    async (freeze_embeddings) => {
      const trainer = await load({ method: 'full', max_steps: 3, freeze_embeddings });
      await reportsOf(trainer, kLabelled);
      const files = await trainer.save();
      const embed = await pipeline('feature-extraction', files);
      expect([...(await embed(kTexts)).data]).toEqual(await vectorsOf(trainer));
      const [now, before] = [files['model.safetensors'] as Uint8Array, tinyFiles().get('model.safetensors') as Uint8Array].map(
        nn.load_safetensors,
      );
      const names = Object.keys(now as object).sort();
      expect(names).toEqual(
        Object.keys(before as object)
          .filter((name) => !/position_ids/.test(name))
          .sort(),
      );
      for (const name of names) {
        const same = largestDifference(now![name]!.data as Float32Array, before![name]!.data as Float32Array) === 0;
        expect([name, same]).toEqual([name, (freeze_embeddings ? /^embeddings|^pooler/ : /^pooler/).test(name)]);
      }
      await Promise.all([embed.dispose(), trainer.dispose()]);
    },
  );

  it('keeps the best state of its evaluations, and ends early', async () => {
    const trainer = await load({ max_steps: 40, learning_rate: 0.02 });
    const reports = await reportsOf(trainer, kLabelled, { validation: kLabelled, eval_steps: 2, early_stopping_patience: 2 });
    const evaluations = reports.flatMap(({ step, evaluation }) => (evaluation ? [{ step, ...evaluation }] : []));
    expect(evaluations[0]).toMatchObject({ step: 2, best: true });
    expect(reports.length).toBeLessThan(40);
    expect(evaluations.slice(-2).map(({ best }) => best)).toEqual([false, false]);
    const best = Math.max(...evaluations.map(({ accuracy }) => accuracy as number));
    expect(evaluations.filter(({ best }) => best).at(-1)?.accuracy).toBe(best);
    await trainer.dispose();
    for (const [rows, measure] of [
      [kScored, 'spearman'],
      [kPairs, 'accuracy'],
    ] as const) {
      const other = await load({ max_steps: 2 });
      const [, last] = await reportsOf(other, rows, { validation: rows.slice(0, 5) });
      expect(Object.keys(last?.evaluation ?? {})).toEqual([measure, 'best']);
      await other.dispose();
    }
  });

  const words = (text: string) => text.split(' ');
  const heads: Record<string, { task: TrainerOptions['task']; rows: TrainingRow[]; measure: string }> = {
    'one label': { task: 'text-classification', rows: kLabelled.map((row) => ({ ...row })), measure: 'accuracy' },
    'pairs of texts': {
      task: 'text-classification',
      rows: kPairs.map(({ anchor, positive }, i) => ({ text: anchor, text_pair: positive, label: ['yes', 'no'][i % 2] as string })),
      measure: 'accuracy',
    },
    'several labels': {
      task: 'text-classification',
      rows: kLabelled.map((row, i) => ({
        text: (row as { text: string }).text,
        labels: i % 3 === 0 ? [] : i % 2 ? ['odd', 'big'] : ['big'],
      })),
      measure: 'f1',
    },
    numbers: {
      task: 'text-classification',
      rows: kLabelled.map((row, i) => ({ text: (row as { text: string }).text, label: i / 4 - 1 })),
      measure: 'mse',
    },
    'tagged words': {
      task: 'token-classification',
      rows: kLabelled.map((row) => {
        const tokens = words((row as { text: string }).text);
        return { tokens, ner_tags: tokens.map((word) => (/river|boat|birds/.test(word) ? 'B-THING' : 'O')) };
      }),
      measure: 'f1',
    },
  };
  for (const [name, { task, rows, measure }] of Object.entries(heads)) {
    it(`trains a new head on ${name}, and saves it with the model`, async () => {
      const options = { task, epochs: 30, ...(name === 'one label' && { loss: 'CrossEntropyLoss' as const }) };
      for (const method of ['full', 'lora', 'head'] as const) {
        const trainer = await load({ ...options, method, learning_rate: { full: 0.005, lora: 0.02, head: 0.05 }[method] });
        const reports = await reportsOf(trainer, rows, { validation: rows, eval_steps: 30 });
        const [first, last] = [reports[0], reports.at(-1)].map((report) => report?.loss as number) as [number, number];
        expect(reports.length).toBe(30);
        expect(last).toBeLessThan(0.9 * first);
        const { evaluation } = reports.at(-1) as TrainingReport;
        if (method === 'full') {
          const value = evaluation?.[measure as 'f1'] as number;
          expect(measure === 'mse' ? value < 0.1 : value > 0.85).toBe(true);
        }
        const input = task === 'token-classification' ? 'the boat and small birds' : { text: 'the river', text_pair: 'a boat' };
        const said = await trainer.predict(input, name === 'several labels' ? { top_k: null } : {});
        const files = await trainer.save();
        if (method === 'full') {
          const pipe = (await pipeline(task as 'text-classification', files)) as any;
          expect(await pipe(input, name === 'several labels' ? { top_k: null } : {})).toEqual(said);
          await pipe.dispose();
          const config = JSON.parse(new TextDecoder().decode(files['config.json']));
          expect(config.architectures).toEqual([
            task === 'token-classification' ? 'BertForTokenClassification' : 'BertForSequenceClassification',
          ]);
          expect(Object.keys(nn.load_safetensors(files['model.safetensors'] as Uint8Array))).toEqual(
            expect.arrayContaining(['bert.encoder.layer.0.attention.self.query.weight', 'classifier.weight', 'classifier.bias']),
          );
          const again = await Trainer.from_pretrained(files, { task, threads: 1, max_steps: 1, learning_rate: 1e-6 });
          const [report] = await reportsOf(again, rows);
          expect(report?.loss).toBeLessThan(0.9 * first); // it goes on with the checkpoint's head
          await again.dispose();
        } else if (method === 'lora') {
          const adapted = (await pipeline(task as 'text-classification', tiny, { adapter: files } as object)) as any;
          const again = await adapted(input, name === 'several labels' ? { top_k: null } : {});
          const numbers = (list: any[]) => list.map(({ score }) => score as number);
          const names = (list: any[]) => list.map(({ label, entity }) => label ?? entity);
          expect(names(again)).toEqual(names(said));
          expect(largestDifference(numbers(again), numbers(said))).toBeLessThan(1e-4); // there the matrices stay apart
          await adapted.dispose();
          const tensors = Object.keys(nn.load_safetensors(files['adapter_model.safetensors'] as Uint8Array));
          expect(tensors).toEqual(
            expect.arrayContaining([
              'base_model.model.classifier.weight',
              'base_model.model.bert.encoder.layer.0.attention.self.query.lora_A.weight',
            ]),
          );
          expect(tensors.filter((tensor) => /pooler/.test(tensor))).toEqual([]);
        }
        await trainer.dispose();
      }
    });
  }

  it('makes the first token of a Longformer global below a new head, and needs to know the loss for it', async () => {
    const base = filesOf(join(goldens, 'longformer'));
    const config = JSON.parse(new TextDecoder().decode(base.get('config.json') as Uint8Array));
    delete config.architectures;
    base.set('config.json', new TextEncoder().encode(JSON.stringify(config)));
    const rows = kLabelled.map((row) => ({ ...row }));
    const options = { task: 'text-classification', threads: 1, epochs: 4 } as const;
    for (const method of ['full', 'lora'] as const) {
      const more = { method, target_modules: 'all-linear', learning_rate: 0.01, loss: 'CrossEntropyLoss' } as const;
      const trainer = await Trainer.from_pretrained(base, {
        ...options,
        ...(method === 'lora' ? more : { ...more, target_modules: undefined }),
      });
      const reports = await reportsOf(trainer, rows);
      expect(reports.at(-1)!.loss).toBeLessThan(reports[0]!.loss);
      const said = await trainer.predict('the river and a boat', { top_k: null });
      const files = await trainer.save();
      await trainer.dispose();
      const pipe = await (method === 'full'
        ? pipeline('text-classification', files)
        : pipeline('text-classification', base, { adapter: files } as object));
      const again = await pipe('the river and a boat', { top_k: null });
      const scores = (list: any[]) => list.map(({ score }) => score as number);
      expect(largestDifference(scores(again), scores(said as any[]))).toBeLessThan(1e-4);
      await pipe.dispose();
      const tensors = nn.load_safetensors(
        files[method === 'full' ? 'model.safetensors' : 'adapter_model.safetensors'] as Uint8Array,
      );
      expect(Object.keys(tensors).some((name) => /encoder\.layer\.1\.attention\.self\.value_global\./.test(name))).toBe(true);
    }
    const unknown = await Trainer.from_pretrained(base, options);
    const pairs = kPairs.map(({ anchor, positive }, i) => ({
      text: anchor,
      text_pair: positive,
      label: ['yes', 'no'][i % 2] as string,
    }));
    await expectError(
      reportsOf(unknown, pairs),
      'UnsupportedError',
      /options of from_pretrained, because the first token is global/,
    );
    await unknown.dispose();
  });

  const decoder = join(goldens, 'decoders/llama');
  const template =
    "{% for m in messages %}{{ '<|' ~ m.role ~ '|>' ~ m.content ~ '|end' }}{% endfor %}{% if add_generation_prompt %}{{ '<|assistant|>' }}{% endif %}";
  const withTemplate = () => filesOf(decoder).set('chat_template.jinja', new TextEncoder().encode(template));
  const kTold = ['abc abc abc', 'cab cab cab', 'bca bca'].map((text) => ({ text }));
  const kChats = kTold.map(({ text }) => ({
    messages: [
      { role: 'user', content: 'say' },
      { role: 'assistant', content: text },
    ],
  }));

  it('trains a language model on texts and on the answers of chats', async () => {
    for (const rows of [kTold, kChats]) {
      for (const method of ['lora', 'full'] as const) {
        const trainer = await Trainer.from_pretrained(withTemplate(), {
          task: 'text-generation',
          threads: 1,
          method,
          max_steps: 15,
          learning_rate: method === 'lora' ? 0.02 : 0.005,
        });
        const reports = await reportsOf(trainer, rows, { validation: rows, eval_steps: 5 });
        const evaluations = reports.flatMap(({ evaluation }) => (evaluation ? [evaluation] : []));
        expect(evaluations.length).toBe(3);
        expect(evaluations[2]?.loss).toBeLessThan(0.9 * (reports[0]?.loss as number));
        expect(evaluations[2]?.perplexity).toBeCloseTo(Math.exp(evaluations[2]?.loss as number), 9);
        const prompt = rows === kTold ? 'abc' : [{ role: 'user', content: 'say' }];
        const [said] = await trainer.predict(prompt, { max_new_tokens: 5 });
        const files = await trainer.save();
        if (method === 'full') {
          const generate = await pipeline('text-generation', files);
          expect(await (generate as any)(prompt, { max_new_tokens: 5 })).toEqual([said]);
          await generate.dispose();
        } else {
          expect(JSON.parse(new TextDecoder().decode(files['adapter_config.json']))).toMatchObject({
            task_type: 'CAUSAL_LM',
            target_modules: ['q_proj', 'v_proj'],
          });
        }
        await trainer.dispose();
      }
    }
  });

  const seq2seq = (name: string) => join(goldens, 'seq2seq', name);
  const kTransformed = [
    ['the old boat waits', 'a boat'],
    ['a bird sings', 'birds'],
    ['home, below the bridge', 'the bridge'],
  ] as const;

  for (const name of ['t5', 'bart', 'marian']) {
    it(`follows torch's losses of an encoder-decoder (${name})`, async () => {
      const { rows, options, losses } = readJson(`training/seq2seq-${name}.json`);
      const trainer = await Trainer.from_pretrained(seq2seq(name), {
        task: 'text2text-generation',
        method: 'full',
        threads: 1,
        ...options,
      });
      const found = (await reportsOf(trainer, rows)).map(({ loss }) => loss);
      expect(found.length).toBe(20);
      found.forEach((loss, i) => expect(Math.abs(loss - losses[i]) / losses[i]).toBeLessThan(1e-4));
      await trainer.dispose();
    });
  }

  it('goes on with an encoder-decoder to the same bits', async () => {
    const rows = kTransformed.map(([text, target]) => ({ text, target })) as unknown as TrainingRow[];
    for (const [name, method] of [
      ['t5', 'lora'],
      ['t5', 'full'],
      ['marian', 'full'],
      ['bart', 'last_layers'],
    ] as const) {
      const begin = () =>
        Trainer.from_pretrained(seq2seq(name), {
          task: 'text2text-generation',
          threads: 1,
          method,
          last_layers: 1,
          max_steps: 6,
          dropout: true,
        });
      const how = { validation: rows, eval_steps: 2 };
      const summaryOf = ({ step, loss, grad_norm, evaluation }: TrainingReport) => [step, loss, grad_norm, evaluation];
      const whole = await begin();
      const expected = (await reportsOf(whole, rows, how)).map(summaryOf);
      const first = await begin();
      const found: unknown[] = [];
      for await (const report of first.fit(rows, how)) {
        found.push(summaryOf(report));
        if (report.step === 3) break;
      }
      const state = await first.state();
      const second = await begin();
      found.push(...(await reportsOf(second, rows, { ...how, resume_from_checkpoint: state })).map(summaryOf));
      expect([name, method, found]).toEqual([name, method, expected]);
      expect(await second.save()).toEqual(await whole.save());
      await Promise.all([whole.dispose(), first.dispose(), second.dispose()]);
    }
  });

  it("trains the last layers of an encoder-decoder's decoder alone", async () => {
    const rows = kTransformed.map(([text, target]) => ({ text, target })) as unknown as TrainingRow[];
    const trainer = await Trainer.from_pretrained(seq2seq('bart'), {
      task: 'text2text-generation',
      threads: 1,
      method: 'last_layers',
      last_layers: 1,
      max_steps: 2,
    });
    await reportsOf(trainer, rows);
    const saved = readTensors((await trainer.save())['model.safetensors'] as Uint8Array);
    const before = readTensors(readFileSync(join(seq2seq('bart'), 'model.safetensors')));
    const layers = [...saved.keys()].filter((name) => name.includes('.layers.'));
    const moved = layers.filter((name) => !Buffer.from(saved.get(name)!.bytes).equals(before.get(name)!.bytes));
    expect(moved.length).toBeGreaterThan(5);
    expect(moved.filter((name) => !/(^|\.)decoder\.layers\.2\./.test(name))).toEqual([]);
    await trainer.dispose();
  });

  it('trains an encoder-decoder, whatever the columns are called, and saves it', async () => {
    const named = (source: string, target: string) =>
      kTransformed.map(([text, made]) => ({ [source]: text, [target]: made })) as unknown as TrainingRow[];
    for (const method of ['lora', 'full', 'last_layers'] as const) {
      const run = async (options: Partial<TrainerOptions>, rows = named('text', 'target')) => {
        const trainer = await Trainer.from_pretrained(seq2seq('t5'), {
          task: 'text2text-generation',
          threads: 1,
          method,
          last_layers: 1,
          max_steps: 15,
          learning_rate: method === 'lora' ? 0.02 : 0.005,
          dropout: true,
          ...options,
        });
        const reports = await reportsOf(trainer, rows, { validation: rows, eval_steps: 5 });
        return { trainer, reports, result: reports.map(({ loss, evaluation }) => [loss, evaluation]) };
      };
      const { trainer, reports, result } = await run({});
      const [first, , last] = reports.flatMap(({ evaluation }) => (evaluation ? [evaluation.loss as number] : []));
      expect(last).toBeLessThan(first as number);
      const others = [
        await run({ threads: 2 }, named('article', 'highlights')),
        await run({ worker: true }, named('source', 'summary')),
        await run({ checkpointing: true }, named('document', 'output')),
      ];
      for (const other of others) {
        expect(other.result).toEqual(result);
        await other.trainer.dispose();
      }
      const said = await trainer.predict('a bird sings', { max_new_tokens: 5 });
      const files = await trainer.save();
      const model = method === 'lora' ? seq2seq('t5') : files;
      const made = await pipeline('text2text-generation', model, method === 'lora' ? { adapter: files } : {});
      expect(await made('a bird sings', { max_new_tokens: 5 })).toEqual(said);
      if (method === 'lora') {
        expect(JSON.parse(new TextDecoder().decode(files['adapter_config.json']))).toMatchObject({
          task_type: 'SEQ_2_SEQ_LM',
          target_modules: ['q', 'v'],
        });
        const tensors = Object.keys(nn.load_safetensors(files['adapter_model.safetensors'] as Uint8Array));
        expect(tensors).toContain('base_model.model.decoder.block.0.layer.1.EncDecAttention.v.lora_A.weight');
      }
      await Promise.all([trainer.dispose(), made.dispose()]);
    }
    const wrong = await Trainer.from_pretrained(seq2seq('t5'), { task: 'text2text-generation', threads: 1 });
    await expectError(reportsOf(wrong, [{ text: 'a' }]), 'InputError', /\{ text, target \}.*found one with text/);
    await wrong.dispose();
    await expectError(
      Trainer.from_pretrained(tiny, { task: 'text2text-generation', threads: 1 }),
      'UnsupportedError',
      /an encoder-decoder/,
    );
  });

  it('drops what LoRA reads, and trains biases, as PEFT saves them', async () => {
    const run = async (options: Partial<TrainerOptions>) => {
      const trainer = await load({ max_steps: 4, ...options });
      const losses = (await reportsOf(trainer, kLabelled)).map(({ loss }) => loss);
      const [vectors, files] = [await vectorsOf(trainer), await trainer.save()];
      await trainer.dispose();
      return { losses, vectors, files };
    };
    const [plain, dropped] = [await run({}), await run({ lora_dropout: 0.5 })];
    expect(dropped.losses[0]).toBe(plain.losses[0]); // B is 0
    expect(dropped.losses.slice(1)).not.toEqual(plain.losses.slice(1));
    expect(await run({ lora_dropout: 0.5, threads: 2, checkpointing: true })).toEqual(dropped);
    const config = (files: Record<string, Uint8Array>) => JSON.parse(new TextDecoder().decode(files['adapter_config.json']));
    expect(config(dropped.files)).toMatchObject({ lora_dropout: 0.5, bias: 'none', modules_to_save: null });
    for (const bias of ['all', 'lora_only'] as const) {
      const { files, vectors, losses } = await run({ bias });
      expect(losses[0]).toBe(plain.losses[0]);
      expect(losses[3]).not.toBe(plain.losses[3]);
      expect(config(files)).toMatchObject({ bias, modules_to_save: null });
      const names = Object.keys(nn.load_safetensors(files['adapter_model.safetensors'] as Uint8Array));
      const prefix = 'base_model.model.encoder.layer.0.attention';
      expect(names).toContain(`${prefix}.self.query.base_layer.bias`);
      expect(names.includes(`${prefix}.output.LayerNorm.bias`)).toBe(bias === 'all');
      expect(names.includes(`${prefix}.self.key.bias`)).toBe(bias === 'all');
      expect(names.includes('base_model.model.embeddings.LayerNorm.bias')).toBe(bias === 'all');
      const embed = await pipeline('feature-extraction', tiny, { adapter: files });
      expect(largestDifference([...(await embed(kTexts)).data], vectors)).toBeLessThan(1e-5);
      await embed.dispose();
    }
    await expectError(
      () => load({ lora_dropout: 1 }),
      'InputError',
      /'lora_dropout': expected a number from 0 to below 1, found 1/,
    );
  });

  it('trains and saves whole modules beside LoRA, as PEFT does', async () => {
    const saved = { modules_to_save: ['word_embeddings', 'attention.output.LayerNorm', '1.output.dense'], max_steps: 4 };
    const run = async (options: Partial<TrainerOptions>, fit = {}) => {
      const trainer = await load({ ...saved, ...options });
      const losses = (await reportsOf(trainer, kLabelled, fit)).map(({ loss }) => loss);
      const [vectors, files] = [await vectorsOf(trainer), await trainer.save()];
      await trainer.dispose();
      return { losses, vectors, files };
    };
    const [plain, whole] = [await run({ modules_to_save: null as never }), await run({})];
    expect(whole.losses[0]).toBe(plain.losses[0]);
    expect(whole.losses[3]).not.toBe(plain.losses[3]);
    expect(await run({ worker: true, threads: 2 })).toEqual(whole);

    const stopped = await load(saved);
    for await (const { step } of stopped.fit(kLabelled)) if (step === 2) break;
    const state = await stopped.state();
    await stopped.dispose();
    const resumed = await run({}, { resume_from_checkpoint: state });
    expect([resumed.vectors, resumed.files]).toEqual([whole.vectors, whole.files]);

    const config = JSON.parse(new TextDecoder().decode(whole.files['adapter_config.json']));
    expect(config.modules_to_save).toEqual(saved.modules_to_save);
    const names = Object.keys(nn.load_safetensors(whole.files['adapter_model.safetensors'] as Uint8Array));
    const prefix = 'base_model.model.';
    expect(names.filter((name) => !name.includes('.lora_')).sort()).toEqual(
      [
        `${prefix}embeddings.word_embeddings.weight`,
        ...[0, 1].flatMap((layer) =>
          ['weight', 'bias'].map((part) => `${prefix}encoder.layer.${layer}.attention.output.LayerNorm.${part}`),
        ),
        ...['weight', 'bias'].map((part) => `${prefix}encoder.layer.1.output.dense.${part}`),
      ].sort(),
    );
    const embed = await pipeline('feature-extraction', tiny, { adapter: whole.files });
    expect(largestDifference([...(await embed(kTexts)).data], whole.vectors)).toBeLessThan(1e-5);
    await embed.dispose();

    const refused = async (modules_to_save: unknown, message: RegExp) => {
      await expectError(() => run({ modules_to_save } as Partial<TrainerOptions>), 'InputError', message);
    };
    await refused([], /'modules_to_save': expected an array of names, found/);
    await refused(['embeddings'], /not inside each other, found 'embeddings.word_embeddings' in 'embeddings'/);
    await refused(['word_embedding'], /expected modules such as 'word_embeddings', found 'word_embedding'/);
  });

  it.each([
    ['smollm', ['lm_head'], { ensure_weight_tying: true, fan_in_fan_out: false }, 'model.embed_tokens.weight'],
    ['gpt2', ['wpe', 'ln_f'], { ensure_weight_tying: false, fan_in_fan_out: true }, 'transformer.wpe.weight'],
  ])('saves modules of a language model (%s)', async (name, modules_to_save, expected, tensor) => {
    const base = join(goldens, 'decoders', name);
    const trainer = await Trainer.from_pretrained(base, { task: 'text-generation', threads: 1, max_steps: 2, modules_to_save });
    await reportsOf(trainer, [{ text: '! # !' }, { text: '# #' }]);
    const files = await trainer.save();
    await trainer.dispose();
    const config = JSON.parse(new TextDecoder().decode(files['adapter_config.json']));
    expect(config).toMatchObject({ ...expected, modules_to_save, task_type: 'CAUSAL_LM' });
    expect(Object.keys(nn.load_safetensors(files['adapter_model.safetensors'] as Uint8Array))).toContain(
      `base_model.model.${tensor}`,
    );
    const logitsOf = async (options: object) => {
      const model = await AutoModelForCausalLM.from_pretrained(base, { threads: 1, ...options });
      const { logits } = await model({ input_ids: [[3, 5, 3]] });
      await model.dispose();
      return [...(logits as { data: Float32Array }).data];
    };
    expect(largestDifference(await logitsOf({ adapter: files }), await logitsOf({}))).toBeGreaterThan(1e-5);
  });

  it('goes on only with the rows, options and model of the run that stopped', async () => {
    const first = await load({ max_steps: 6 });
    for await (const { step } of first.fit(kLabelled)) if (step === 2) break;
    const state = await first.state();
    await first.dispose();
    const refused = async (
      message: RegExp,
      { options = {}, rows = kLabelled, how = {}, model = tiny as any }: Record<string, any>,
    ) => {
      const all = { task: 'feature-extraction', threads: 1, learning_rate: 0.01, batch_size: 9, max_steps: 6, ...options };
      const trainer = await Trainer.from_pretrained(model, all as TrainerOptions);
      await expectError(reportsOf(trainer, rows, { ...how, resume_from_checkpoint: state }), 'StateError', message);
      await trainer.dispose();
    };
    await refused(/learning_rate was 0.01 and is 0.02/, { options: { learning_rate: 0.02 } });
    await refused(/max_steps was 6 and is 7/, { options: { max_steps: 7 } });
    await refused(/seed was none and is 1/, { options: { seed: 1 } });
    await refused(/the training rows differ/, { rows: [...kLabelled].reverse() });
    await refused(/the validation rows differ/, { how: { validation: kLabelled } });
    const files = tinyFiles();
    const weights = (files.get('model.safetensors') as Uint8Array).slice();
    weights[weights.length - 1]! ^= 1;
    await refused(/the model's weights differ/, { model: files.set('model.safetensors', weights) });
  });

  it('learns only the answers of a chat', async () => {
    const loss = async (rows: TrainingRow[]) => {
      const trainer = await Trainer.from_pretrained(withTemplate(), {
        task: 'text-generation',
        threads: 1,
        max_steps: 1,
        warmup_steps: 0,
      });
      const [report] = await reportsOf(trainer, rows);
      await trainer.dispose();
      return report?.loss;
    };
    const [first] = kChats as [(typeof kChats)[0]];
    const answers = [...first.messages, { role: 'user', content: 'more' }, { role: 'assistant', content: 'cab' }];
    // The mean over the tokens of both answers, each after all that comes before it.
    const tokenizer = await AutoTokenizer.from_pretrained(withTemplate());
    const model = await AutoModelForCausalLM.from_pretrained(withTemplate());
    const text = '<|user|>say|end<|assistant|>abc abc abc|end<|user|>more|end<|assistant|>cab|end';
    const ends = [text.indexOf('abc'), text.indexOf('<|user|>more'), text.lastIndexOf('cab'), text.length] as const;
    const { input_ids, offset_mapping } = tokenizer(text, { add_special_tokens: false, return_offsets_mapping: true }) as any;
    const { logits } = (await model({ input_ids }, { output_logits: true } as object)) as any;
    const vocab = logits.dims[2];
    let [sum, count] = [0, 0];
    const ids = [...input_ids.data].map(Number);
    const offsets = [...offset_mapping.data].map(Number);
    for (let t = 1; t < ids.length; ++t) {
      const begin = offsets[2 * t] as number;
      if (!((begin >= ends[0] && begin < ends[1]) || (begin >= ends[2] && begin < ends[3]))) continue;
      const row = [...logits.data.subarray((t - 1) * vocab, t * vocab)] as number[];
      const most = Math.max(...row);
      sum += most + Math.log(row.reduce((all, z) => all + Math.exp(z - most), 0)) - (row[ids[t] as number] as number);
      ++count;
    }
    expect(count).toBeGreaterThan(5);
    expect(await loss([{ messages: answers }])).toBeCloseTo(sum / count, 5);
    await model.dispose();
    await expectError(loss([{ messages: answers.slice(0, 1) }]), 'InputError', /row 0: expected a message of the assistant/);
  });

  it('refuses labels that the head lacks', async () => {
    const trainer = await Trainer.from_pretrained(headFiles('sequence'), { task: 'text-classification', threads: 1, max_steps: 1 });
    await expectError(
      reportsOf(trainer, kLabelled),
      'InputError',
      /row 0: expected one of the labels .*, found 'water'; loss: 'SupConLoss' /,
    );
    await trainer.dispose();
    const taught = await Trainer.from_pretrained(headFiles('sequence'), {
      task: 'text-classification',
      loss: 'SupConLoss',
      threads: 1,
      max_steps: 2,
    });
    expect(await reportsOf(taught, kLabelled)).toHaveLength(2);
    expect(taught.classifier.labels).toEqual(['land', 'sky', 'water']);
    await taught.dispose();
    const other = await load({ task: 'token-classification' });
    await expectError(reportsOf(other, kLabelled), 'InputError', /expected rows for task 'token-classification'/);
    await expectError(reportsOf(other, [{ tokens: ['a', 'b'], ner_tags: ['O'] }]), 'InputError', /row 0: expected 2 tags/);
    await other.dispose();
  });

  it('gives the same bits with a head in a worker', async () => {
    const run = async (worker: boolean) => {
      const trainer = await load({ task: 'text-classification', loss: 'CrossEntropyLoss', worker, max_steps: 4, dropout: true });
      const reports = await reportsOf(trainer, kLabelled, { validation: kLabelled, eval_steps: 2 });
      const result = [reports.map(({ loss, evaluation }) => [loss, evaluation]), await trainer.predict(kTexts, { top_k: null })];
      await trainer.dispose();
      return result;
    };
    expect(await run(true)).toEqual(await run(false));
  });

  it('knows the best evaluation after a stop', async () => {
    const how = { validation: kLabelled, eval_steps: 2, early_stopping_patience: 3 };
    const options = { max_steps: 40, learning_rate: 0.02 };
    const [whole, first, second] = [await load(options), await load(options), await load(options)];
    const expected = (await reportsOf(whole, kLabelled, how)).map(({ step }) => step);
    let stopped = 0;
    for await (const { step, evaluation } of first.fit(kLabelled, how)) {
      stopped = step;
      if (evaluation?.best === false) break;
    }
    expect(stopped).toBeLessThan(expected.length);
    const state = await first.state();
    const rest = await reportsOf(second, kLabelled, { ...how, resume_from_checkpoint: state });
    expect(rest.map(({ step }) => step)).toEqual(expected.slice(stopped));
    expect(await vectorsOf(second)).toEqual(await vectorsOf(whole));
    await Promise.all([whole.dispose(), first.dispose(), second.dispose()]);
  });

  it('gives no tag to a word without tokens', async () => {
    // U+FE0F, as in emoji, has none: it is removed. The tag after it is not its own.
    const rows = [0, 1, 2, 3].map(() => ({ tokens: ['the', '\uFE0F', 'boat'], ner_tags: ['O', 'O', 'B-THING'] }));
    const trainer = await load({ task: 'token-classification', method: 'full', learning_rate: 0.005, max_steps: 30 });
    const reports = await reportsOf(trainer, rows, { validation: rows, eval_steps: 30 });
    expect(reports.at(-1)?.evaluation?.f1).toBe(1);
    await trainer.dispose();
  });

  it('makes a classifier of labelled texts', async () => {
    const trainer = await load({ task: 'text-classification', max_steps: 20 });
    expect(() => trainer.classifier).toThrow(/fit/);
    await reportsOf(trainer, kLabelled);
    const found = await trainer.classifier(kLabelled.map((row) => (row as { text: string }).text));
    expect(found.map(({ label }) => label)).toEqual(kLabelled.map((row) => (row as { label: string }).label));
    expect(Object.keys(await trainer.save())).toContain('classifier.json');
    await trainer.dispose();
  });

  it('knows its memory before it begins', async () => {
    const [lora, full] = [await load({ target_modules: ['query', 'value'], r: 4 }), await load({ method: 'full' })];
    expect(inspect(lora)).toMatch(/^Trainer\(bert, [a-z-]+, lora\)$/);
    const [small, large] = [await lora.plan({ batch: 4, tokens: 16 }), await full.plan({ batch: 4, tokens: 16 })];
    const counted = `${small.trainable.toLocaleString('en')} of ${small.all.toLocaleString('en')} weights`;
    expect(inspect(lora)).toMatch(new RegExp(`^Trainer\\(bert, [a-z-]+, lora of query, value: ${counted}\\)$`));
    expect(String(full)).toMatch(/, full: [\d,]+ of [\d,]+ weights\)$/);
    const { num_hidden_layers, hidden_size } = lora.info();
    expect(small.trainable).toBe(num_hidden_layers * 2 * 2 * 4 * hidden_size);
    expect(small.optimizer).toBe(8 * small.trainable);
    expect(large.trainable).toBeGreaterThan(10 * small.trainable);
    for (const plan of [small, large]) expect(plan.total).toBe(plan.weights + plan.gradients + plan.optimizer + plan.activations);
    const frozen = await load({ method: 'full', freeze_embeddings: true });
    const less = await frozen.plan({ batch: 4, tokens: 16 });
    expect(large.trainable - less.trainable).toBeGreaterThan(hidden_size * 100);
    expect([less.gradients < large.gradients, less.optimizer < large.optimizer]).toEqual([true, true]);
    await frozen.dispose();
    const frugal = await load({ method: 'full', checkpointing: true });
    expect((await frugal.plan({ batch: 4, tokens: 16 })).activations).toBeLessThan(large.activations);
    await frugal.dispose();
    expect((await full.plan({ batch: 8, tokens: 16 })).activations).toBeGreaterThan(large.activations);
    // A part of the activations lies where gradients come later, unless several parts add to them.
    const inParts = await load({ method: 'full', gradient_accumulation_steps: 2 });
    expect((await inParts.plan({ batch: 4, tokens: 16 })).activations).toBeGreaterThan(large.activations);
    await inParts.dispose();
    // The optimizer has numbers for the words that occur in the rows; without rows each token may be another one.
    const [all, own] = [await full.plan({ batch: 8, tokens: 16 }), await full.plan({ batch: 8, tokens: 16, rows: kLabelled })];
    expect(own.optimizer).toBeLessThan(all.optimizer);
    expect({ ...own, optimizer: 0, total: 0 }).toEqual({ ...all, optimizer: 0, total: 0 });
    await Promise.all([lora.dispose(), full.dispose()]);
  });

  it('knows the memory of a new head from the rows', async () => {
    const rows = kLabelled as { text: string; label: string }[];
    for (const method of ['head', 'lora'] as const) {
      const trainer = await load({ task: 'text-classification', loss: 'CrossEntropyLoss', method, max_steps: 2 });
      if (method === 'head') await expectError(trainer.plan(), 'InputError', /option 'rows'/);
      const { hidden_size } = trainer.info();
      const few = rows.map(({ text }, i) => ({ text, label: i % 2 ? 'odd' : 'even' }));
      const [two, three] = [await trainer.plan({ rows: few, tokens: 16 }), await trainer.plan({ rows, tokens: 16 })];
      expect(three.trainable - two.trainable).toBe(hidden_size + 1);
      expect(three.total).toBeGreaterThan(0);
      const before = await vectorsOf(trainer);
      await reportsOf(trainer, rows); // with the head of its own rows, not of the plan's
      expect((await trainer.predict('the river', { top_k: null })).length).toBe(3);
      if (method === 'head') expect(await vectorsOf(trainer)).toEqual(before);
      const after = await trainer.plan({ tokens: 16 });
      expect(after.trainable).toBe(three.trainable);
      await trainer.dispose();
    }
  });

  it('refuses what cannot be trained, and stays as it was', async () => {
    const trainer = await load({ max_steps: 2 });
    const before = await vectorsOf(trainer);
    const fit = (rows: unknown, options = {}) => reportsOf(trainer, rows as TrainingRow[], options);
    await expectError(fit([]), 'InputError', /expected rows, found none/);
    await expectError(fit([{ texts: 'a' }]), 'InputError', /\{ text\[, text_pair\], label \}/);
    await expectError(fit([{ text: 'a', label: 'x' }, { text: 'b' }]), 'InputError', /row 1: expected a string as 'label'/);
    await expectError(
      fit([
        { text: 'a', label: 'x' },
        { text: 'b', label: 'x' },
      ]),
      'InputError',
      /two labels/,
    );
    await expectError(fit([{ sentence1: 'a', sentence2: 'b', score: NaN }]), 'InputError', /row 0: expected a number as 'score'/);
    await expectError(fit(kLabelled, { validation: kPairs }), 'InputError', /validation/);
    await expectError(fit(kLabelled, { epochs: 3 }), 'InputError', /unknown option 'epochs'/);
    expect(await vectorsOf(trainer)).toEqual(before);
    await trainer.dispose();
    await expectError(
      () => load({ target_modules: ['q_proj'] }).then((made) => reportsOf(made, kLabelled)),
      'InputError',
      /'query'.*'q_proj'/,
    );
    await expectError(
      () => load({ loss: 'TripletLoss' }).then((made) => reportsOf(made, kPairs)),
      'InputError',
      /MultipleNegatives/,
    );
    await expectError(() => load({ lerning_rate: 1 } as object), 'InputError', /did you mean 'learning_rate'/);
    await expectError(
      () => load({ method: 'last_layers', last_layers: 99 }).then((made) => reportsOf(made, kLabelled)),
      'InputError',
      /last_layers/,
    );
    const wild = await load({ learning_rate: 1e30, max_grad_norm: 0, max_steps: 30 });
    await expectError(reportsOf(wild, kLabelled), 'InputError', /finite/);
    await wild.dispose();
  });
});
