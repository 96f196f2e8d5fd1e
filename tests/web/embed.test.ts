import { pipeline, type Embeddings, type FeatureExtractionPipeline } from 'wattn';
import { edited, expectError, expectNear, failure, headFiles, mixedTexts, readJson, tiny, tinyFiles } from './support.js';

let embed: FeatureExtractionPipeline;
// Node has these two, but not inside Jest.
Object.defineProperty(Symbol, 'dispose', { value: Symbol.dispose ?? Symbol('dispose') });
Object.defineProperty(Symbol, 'asyncDispose', { value: Symbol.asyncDispose ?? Symbol('asyncDispose') });

beforeAll(async () => {
  embed = await pipeline('feature-extraction', tiny);
});
afterAll(() => embed.dispose());

const bytesOf = (out: Embeddings) => Buffer.from(out.data.buffer, out.data.byteOffset, out.data.byteLength);

describe('embed', () => {
  it('equals sentence-transformers in every pooling, with and without prompts and unit length', async () => {
    const { texts, cases } = readJson('bert-tiny/poolings.json');
    const withoutPrompt = tinyFiles({ '1_Pooling/config.json': edited('1_Pooling/config.json', { include_prompt: false }) });
    const embedWithout = await pipeline('feature-extraction', withoutPrompt);
    for (const { pooling_mode, prompt_name, include_prompt, normalize, vectors, f32_diff } of cases) {
      const run = include_prompt ? embed : embedWithout;
      const out = await run(texts, { pooling: pooling_mode, normalize, ...(prompt_name && { prompt_name }) });
      expect(out.dims).toEqual([texts.length, vectors[0].length]);
      expectNear(out.data, vectors.flat(), f32_diff);
    }
    expect(cases.length).toBe(32);
    await embedWithout.dispose();
  });

  it('takes pooling, unit length and the longest text from the repository', async () => {
    const { rows, torch_f32_to_exact } = readJson('bert-tiny/embeddings.json');
    const out = await embed(rows.map((row: any) => row.text));
    expectNear(
      out.data,
      rows.flatMap((row: any) => row.vector),
      torch_f32_to_exact,
    );
    rows.forEach((row: any, i: number) => {
      expect(out.tokens[i]).toBe(row.input_ids.length);
      expect(out.truncated[i]).toBe(row.tokens_before_truncation > row.input_ids.length);
    });
    expect(out.truncated).toContain(true);
  });

  it('gives the same bits alone and in a batch, for 1,000 mixed texts', async () => {
    const texts = mixedTexts(1000);
    const all = bytesOf(await embed(texts));
    const size = all.length / texts.length;
    for (const [i, text] of texts.entries()) {
      const one = bytesOf(await embed(text));
      if (!one.equals(all.subarray(i * size, (i + 1) * size))) throw new Error(`text ${i} differs: ${JSON.stringify(text)}`);
    }
  });

  it('gives one vector a token without pooling, zeros behind the shorter texts', async () => {
    const { inputs } = readJson('bert-tiny/taps.json');
    const texts = inputs.filter((input: any) => input.text_pair === null).map((input: any) => input.text);
    const out = await embed(texts, { pooling: 'none' });
    const longest = Math.max(...out.tokens);
    expect(out.dims).toEqual([texts.length, longest, 32]);
    const mean = await embed(texts, { pooling: 'mean', normalize: false });
    texts.forEach((_: string, i: number) => {
      const rows = out.get(i).tolist<number[][]>();
      expect(
        rows
          .slice(out.tokens[i])
          .flat()
          .every((x) => x === 0),
      ).toBe(true);
      const sum = rows.reduce((total, row) => total.map((x, j) => x + (row[j] as number)), new Array(32).fill(0));
      expectNear(
        mean.get(i).data,
        sum.map((x) => x / (out.tokens[i] as number)),
        1e-6,
      );
    });
    expect((await embed(texts[0], { pooling: 'none' })).dims).toEqual([1, out.tokens[0], 32]);
  });

  it('does not normalise tokens unless asked', async () => {
    const norms = (out: Embeddings) => out.tolist<number[][][]>()[0]!.map((row) => Math.hypot(...row));
    expect(norms(await embed('the boat', { pooling: 'none' })).every((norm) => norm > 1.5)).toBe(true);
    for (const norm of norms(await embed('the boat', { pooling: 'none', normalize: true }))) expect(norm).toBeCloseTo(1, 6);
  });

  it("knows transformers.js's names of poolings", async () => {
    for (const [name, same] of [
      ['first_token', 'cls'],
      ['last_token', 'lasttoken'],
      ['eos', 'lasttoken'],
    ] as const) {
      // prettier-ignore
      expect((await embed('the old bridge', { pooling: name })).data).toEqual((await embed('the old bridge', { pooling: same })).data);
    }
  });

  it('puts prompts before texts', async () => {
    const byName = await embed('the boat', { prompt_name: 'query' });
    expect(byName.data).toEqual((await embed('the boat', { prompt: 'query: ' })).data);
    expect(byName.data).toEqual((await embed('query: the boat')).data);
    expect(byName.data).not.toEqual((await embed('the boat')).data);
    expect(embed.info().prompts).toEqual({ query: 'query: ', document: 'passage: ' });
  });

  it('cuts to max_length and says so, or refuses', async () => {
    const text = 'the small boat below the old bridge';
    const whole = await embed(text);
    const cut = await embed([text, 'the'], { max_length: 5 });
    expect([...cut.tokens]).toEqual([5, 3]);
    expect(cut.truncated).toEqual([true, false]);
    expect(cut.get(0).data).not.toEqual(whole.data);
    expect(whole.truncated).toEqual([false]);
    await expectError(embed(text, { max_length: 5, on_overflow: 'error' }), 'InputError', /expected at most 5/);
    expect((await embed('the', { max_length: 5, on_overflow: 'error' })).dims).toEqual([1, 32]);
  });

  it('reads special-token strings in a text as Python does, or as ordinary text', async () => {
    const [as, literal] = [await embed('a [SEP] b'), await embed('a [SEP] b', { split_special_tokens: true })];
    expect(literal.tokens[0]).toBeGreaterThan(as.tokens[0] as number);
  });

  it('says why a model without modules.json gives vectors of tokens', async () => {
    expect(embed.info()).not.toHaveProperty('pooled_reason');
    const unpooled = await pipeline('feature-extraction', tinyFiles({ 'modules.json': null }));
    expect(unpooled.info()).toMatchObject({ pooled: false, pooled_reason: expect.stringMatching(/no modules\.json.*'pooling'$/) });
    expect((await unpooled('the boat')).dims).toHaveLength(3);
    expect((await unpooled('the boat', { pooling: 'mean' })).dims).toHaveLength(2);
    await unpooled.dispose();
    const fill = await pipeline('fill-mask', headFiles('masked_lm'));
    expect(fill.info()).not.toHaveProperty('pooled_reason');
    await fill.dispose();
  });

  it('gives an empty Tensor for no texts', async () => {
    expect((await embed([])).dims).toEqual([0, 32]);
    expect((await embed([], { pooling: ['cls', 'mean'] })).dims).toEqual([0, 64]);
    expect((await embed([], { pooling: 'none' })).dims).toEqual([0, 0, 32]);
  });

  it('tells what the model is and what it takes', () => {
    expect(embed.info()).toMatchObject({
      model_type: 'bert',
      hidden_size: 32,
      max_length: 48,
      dtype: 'f32',
      precision: 'exact',
      workers: 0,
    });
    const { weights, activations, total } = embed.memory();
    expect(weights).toBeGreaterThan(36704 * 4 - 1);
    expect(total).toBe(weights + activations);
  });

  it('serves calls that are made at once', async () => {
    const texts = mixedTexts(40);
    const outs = await Promise.all(texts.map((text) => embed(text)));
    const all = await embed(texts);
    outs.forEach((out, i) => expect(out.data).toEqual(all.get(i).data));
  });

  it('lets the event loop run in the middle of a large call, and stops there when told', async () => {
    const texts = mixedTexts(1000);
    // A clock that goes on by 50 ms at each look: no crossing is short, so there is a break between all 6 (of 1, 2, 4, .. steps).
    let clock = 0;
    Object.defineProperty(performance, 'now', { value: () => (clock += 50), configurable: true });
    try {
      let turns = 0;
      const tick = (): void => {
        ++turns;
        timer = setTimeout(tick);
      };
      let timer = setTimeout(tick);
      const all = await embed(texts);
      clearTimeout(timer);
      expect(all.dims).toEqual([1000, 32]);
      expect(turns).toBe(5);
      expect(all.get(999).data).toEqual((await embed(texts[999] as string)).data);

      const controller = new AbortController();
      setTimeout(() => controller.abort(new Error('enough')));
      const running = embed(texts, { signal: controller.signal });
      expect((await expectError(running, 'AbortError', /: enough/)).cause.message).toBe('enough');
    } finally {
      delete (performance as { now?: unknown }).now; // the prototype's is there again
    }
    expect((await embed('the')).dims).toEqual([1, 32]);
    await expectError(embed('the', { signal: AbortSignal.abort() }), 'AbortError');
  });

  it('stops in the middle of one long text', async () => {
    const long = 'the bridge '.repeat(300_000);
    const controller = new AbortController();
    setTimeout(() => controller.abort());
    await expectError(embed(long, { on_overflow: 'window', signal: controller.signal }), 'AbortError');
    expect((await embed('the')).dims).toEqual([1, 32]);
  });

  it('says which share of a text the vocabulary does not know', async () => {
    const texts = ['the', '\u{1F600}', 'the \u{1F600}', '', 'the '.repeat(90) + '\u{1F600} '.repeat(10)];
    const shares = [0, 1, 0.5, 0, 0.1].map(Math.fround);
    expect((await embed(texts)).unknown).toEqual(shares);
    expect((await embed(texts, { on_overflow: 'window', precision: 'int8' })).unknown).toEqual(shares);
    expect(embed.tokenizer(texts, { padding: true }).unknown).toEqual(shares);
  });

  it('refuses to give vectors that are not finite', async () => {
    const weights = (tinyFiles().get('model.safetensors') as Uint8Array).slice();
    const length = Number(new DataView(weights.buffer).getBigUint64(0, true));
    const header = JSON.parse(new TextDecoder().decode(weights.subarray(8, 8 + length)));
    const [begin, end] = header['encoder.layer.1.output.LayerNorm.weight'].data_offsets.map((at: number) => 8 + length + at);
    const values = new DataView(weights.buffer);
    for (let at = begin; at < end; at += 4) values.setFloat32(at, 3e38, true);
    for (const worker of [false, true]) {
      const broken = await pipeline('feature-extraction', tinyFiles({ 'model.safetensors': weights }), { worker });
      await expectError(
        broken([]).then(() => broken(['the', 'old'])),
        'ModelFormatError',
        / text 0: the model's result is not finite/,
      );
      await expectError(broken('the', { pooling: 'none' }), 'ModelFormatError', /not finite/);
      await broken.dispose();
    }
  });

  it('refuses wrong texts and options by name', async () => {
    const wrong: [unknown, unknown, RegExp][] = [
      [3, {}, /embed: expected a string or an array of strings, found 3/],
      [null, {}, /found null/],
      [['a', 'b', 7], {}, /expected a string at index 2, found 7/],
      [['a', ['b']], {}, /expected a string at index 1, found an array/],
      [
        'a',
        { poolng: 'mean' },
        /unknown option 'poolng'; did you mean 'pooling'\? known options: adapter, task, pooling, normalize/,
      ],
      ['a', { pooling: 'avg' }, /'pooling': expected none, mean, .*found 'avg'/],
      ['a', { pooling: [] }, /found an empty array/],
      ['a', { pooling: ['mean', 'none'] }, /found 'none'/],
      ['a', { pooling: 3 }, /found 3/],
      ['a', { normalize: 'yes' }, /'normalize': expected a boolean, found 'yes'/],
      ['a', { prompt: 'p', prompt_name: 'query' }, /one of the options 'prompt' and 'prompt_name'/],
      ['a', { prompt_name: 'nope' }, /prompt_name: expected one of 'document', 'query', found 'nope'/],
      ['a', { max_length: 0 }, /'max_length': expected a whole number from 1 on, found 0/],
      ['a', { max_length: 1.5 }, /found 1\.5/],
      ['a', { max_length: 65 }, /max_length: expected a whole number from 1 to 64 .*found 65/],
      ['a', { max_length: 1 }, /special/],
      ['a', { on_overflow: 'cut' }, /expected one of 'truncate', 'error', 'window', found 'cut'/],
      ['a', { signal: {} }, /'signal': expected an AbortSignal, found an object/],
      ['a', 'mean', /expected an object of options, found 'mean'/],
    ];
    for (const [texts, options, message] of wrong) {
      await expectError((embed as any)(texts, options), 'InputError', message);
    }
    expect((await embed('a', { pooling: null, normalize: undefined } as any)).dims).toEqual([1, 32]);
  });
});

describe('dispose', () => {
  it('ends a pipeline: later calls are StateErrors, a second dispose does nothing', async () => {
    const one = await pipeline('feature-extraction', tiny);
    const two = await pipeline('feature-extraction', tiny);
    await one('the');
    await one.dispose();
    await one.dispose();
    await expectError(one('the'), 'StateError', /this model was disposed/);
    await expectError(() => one.tokenizer('the'), 'StateError');
    expect((await two('the')).dims).toEqual([1, 32]);
    two[Symbol.dispose]();
    await expectError(two('the'), 'StateError');
    const three = await pipeline('feature-extraction', tiny);
    await three[Symbol.asyncDispose]();
    await expectError(three('the'), 'StateError');
  });

  it('ends a call that is under way', async () => {
    const run = await pipeline('feature-extraction', tiny);
    const running = run(mixedTexts(6000));
    await run.dispose();
    await expectError(running, 'StateError');
  });
});

describe('pipeline', () => {
  it('names the tasks there are', async () => {
    const all =
      /expected a task of feature-extraction, text-classification, .*, text2text-generation, .*, ner, embeddings, found 'nerr'; did you mean 'ner'\?$/;
    await expectError((pipeline as any)('nerr', tiny), 'InputError', all);
    await expectError((pipeline as any)(undefined, tiny), 'InputError');
    const meant = { clasify: 'text-classification', 'text-clasification': 'text-classification', embedding: 'feature-extraction', 'zero-shot': 'zero-shot-classification', QA: 'question-answering', xyz: undefined }; // prettier-ignore
    for (const [task, name] of Object.entries(meant)) {
      const { message } = await failure((pipeline as any)(task, tiny));
      expect(/did you mean '(.+)'/.exec(message)?.[1]).toBe(name);
    }
  });

  it('refuses what it does not know and what is not there yet', async () => {
    const wrong: [Record<string, unknown>, string, RegExp][] = [
      [{ dtype: 'q3' }, 'InputError', /option 'dtype': expected one of 'f32', 'fp32', 'f16', 'q16', 'q8', 'q4', found 'q3'/],
      [{ worker: 'yes' }, 'InputError', /option 'worker'/],
      [{ precision: 'sloppy' }, 'InputError', /expected one of 'exact', 'fast', found 'sloppy'/],
      [{ gpu: true }, 'InputError', /unknown option 'gpu'; known options: progress_callback, signal/],
      [{ revision: 'main' }, 'InputError', /expected a Hub id as the model/],
      [{ progress_callback: 3 }, 'InputError', /expected a function, found 3/],
    ];
    for (const [options, name, message] of wrong) {
      await expectError((pipeline as any)('feature-extraction', tiny, options), name, message);
    }
    const run = await pipeline('feature-extraction', tiny, { dtype: 'fp32', worker: false, precision: 'fast' });
    expect(run.info()).toMatchObject({ dtype: 'f32', precision: 'fast' });
    expect((await run('the')).dims).toEqual([1, 32]);
    await run.dispose();
  });
});
