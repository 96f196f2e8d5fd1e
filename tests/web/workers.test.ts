// Worker mode and pools: the same results as without, including errors and signals.
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { AutoModel, env, pipeline, Tensor } from 'wattn';
import { edited, expectError, mixedTexts, root, tiny, tinyFiles } from './support.js';

const texts = mixedTexts(150);

describe('worker', () => {
  it('gives the bits of the caller’s own thread, in one worker or several', async () => {
    const here = await pipeline('feature-extraction', tiny);
    const expected = await here(texts);
    expect(here.info().workers).toBe(0);
    for (const worker of [true, 3]) {
      const embed = await pipeline('feature-extraction', tiny, { worker });
      const got = await embed(texts);
      expect(got).toBeInstanceOf(Tensor);
      expect(got.dims).toEqual(expected.dims);
      expect(Buffer.from(got.data.buffer).equals(Buffer.from(expected.data.buffer))).toBe(true);
      expect(got.tokens).toEqual(expected.tokens);
      expect(got.truncated).toEqual(expected.truncated);
      const tokens = await embed(texts.slice(0, 40), { pooling: 'none' });
      expect(tokens.data).toEqual((await here(texts.slice(0, 40), { pooling: 'none' })).data);
      expect((await embed([])).dims).toEqual([0, 32]);
      const workers = worker === true ? 1 : 3;
      expect(embed.info()).toMatchObject({ workers, model_type: 'bert', prompts: here.info().prompts });
      expect(embed.memory().weights).toBe(workers * here.memory().weights);
      await embed.dispose();
      await expectError(embed('late'), 'StateError', /this model was disposed/);
    }
    await here.dispose();
  });

  it('answers a short call while a long text runs, and ends that one', async () => {
    const embed = await pipeline('feature-extraction', tiny, { worker: true });
    const controller = new AbortController();
    let ended = false;
    const long = embed('the bridge '.repeat(500_000), { on_overflow: 'window', signal: controller.signal });
    long.catch(() => {}).finally(() => (ended = true));
    expect((await embed('the')).dims).toEqual([1, 32]);
    expect(ended).toBe(false);
    controller.abort();
    await expectError(long, 'AbortError');
    expect((await embed('the')).dims).toEqual([1, 32]);
    await embed.dispose();
  });

  it('runs AutoModel too', async () => {
    const inputs = { input_ids: [[2, 96, 3], [2, 275, 3]], attention_mask: [[1, 1, 1], [1, 1, 0]] }; // prettier-ignore
    const options = { output_attentions: true, output_hidden_states: true };
    const here = await AutoModel.from_pretrained(tiny);
    const there = await AutoModel.from_pretrained(tiny, { worker: true });
    const [a, b] = [await here(inputs, options), await there(inputs, options)];
    expect(b.last_hidden_state).toBeInstanceOf(Tensor);
    expect(JSON.stringify(b)).toBe(JSON.stringify(a));
    expect(there.config).toEqual(here.config);
    await expectError(there({ input_ids: [[1e9]] }), 'InputError', /input_ids/);
    await here.dispose();
    await there.dispose();
  });

  it('passes progress on, and takes bytes', async () => {
    const seen: string[] = [];
    const progress_callback = ({ status }: { status: string }) => void seen.push(status);
    const embed = await pipeline('feature-extraction', tinyFiles(), { worker: true, progress_callback });
    expect((await embed('the')).dims).toEqual([1, 32]);
    expect(seen.filter((status) => status === 'progress').length).toBeGreaterThan(0);
    expect(seen.filter((status) => status === 'ready').length).toBe(1);
    await embed.dispose();
  });

  it('lets a process end that forgot to dispose', () => {
    const program = `import { pipeline } from ${JSON.stringify(join(root, 'dist/node.js'))};
      for (const options of [{ worker: 2 }, { threads: 3 }]) {
        const embed = await pipeline('feature-extraction', ${JSON.stringify(tiny)}, options);
        console.log((await embed('the')).dims);
      }`;
    const { status, stdout, stderr } = spawnSync(process.execPath, ['--input-type=module', '-e', program], { timeout: 240_000 });
    expect(String(stderr)).toBe('');
    expect(String(stdout)).toBe('[ 1, 32 ]\n[ 1, 32 ]\n');
    expect(status).toBe(0);
  });

  it('brings errors back as what they are', async () => {
    await expectError(pipeline('feature-extraction', './nowhere', { worker: true }), 'InputError', /expected a directory/);
    const broken = tinyFiles({ 'config.json': edited('config.json', { hidden_size: 33 }) });
    await expectError(pipeline('feature-extraction', broken, { worker: 2 }), 'ModelFormatError', /./);
    const embed = await pipeline('feature-extraction', tiny, { worker: true });
    await expectError(embed(['fine', 'the '.repeat(200)], { on_overflow: 'error' }), 'InputError', /text 1: expected at most/);
    expect((await embed('still well')).dims).toEqual([1, 32]);
    expect(() => embed.tokenizer).toThrow(/AutoTokenizer\.from_pretrained/);
    await embed.dispose();
    for (const worker of [0, -1, 1.5, 'yes', 65]) {
      await expectError(pipeline('feature-extraction', tiny, { worker: worker as number }), 'InputError', /option 'worker'/);
    }
    env.fetch = async () => new Response();
    await expectError(pipeline('feature-extraction', tiny, { worker: true }), 'InputError', /env\.fetch/);
    env.fetch = undefined;
  });

  it('obeys signals on loading and on calls, and goes on well', async () => {
    const loading = new AbortController();
    const load = pipeline('feature-extraction', tiny, { worker: true, signal: loading.signal });
    loading.abort(new Error('changed my mind'));
    await expectError(load, 'AbortError', /changed my mind/);
    const embed = await pipeline('feature-extraction', tiny, { worker: 2 });
    const calling = new AbortController();
    const long = embed(mixedTexts(3000), { signal: calling.signal });
    void embed('passes the long one').then(() => calling.abort());
    await expectError(long, 'AbortError', /aborted/);
    expect((await embed(texts.slice(0, 5))).dims).toEqual([5, 32]);
    await embed.dispose();
  });

  it('lets a short call pass a long one', async () => {
    const embed = await pipeline('feature-extraction', tiny, { worker: true });
    const order: string[] = [];
    const long = embed(mixedTexts(3000)).then(() => order.push('long'));
    await embed('short');
    order.push('short');
    await long;
    expect(order).toEqual(['short', 'long']);
    await embed.dispose();
  });

  it('that is disposed during a call ends the call', async () => {
    const embed = await pipeline('feature-extraction', tiny, { worker: 2 });
    const call = embed(mixedTexts(2000));
    await embed.dispose();
    await expectError(call, 'StateError', /disposed/);
  });

  // Runs in a process whose workers can be reached. end: what happens to them during a long call.
  const dying = (end: string, options: object, start = '') => `
    import { createRequire, syncBuiltinESMExports } from 'node:module';
    const threads = createRequire(import.meta.url)('node:worker_threads');
    const workers = [];
    threads.Worker = class extends threads.Worker {
      constructor(url, options) {
        super(url, { ...options, ${start} });
        workers.push(this);
      }
    };
    syncBuiltinESMExports();
    const { pipeline, WattnError } = await import(${JSON.stringify(join(root, 'dist/node.js'))});
    const said = (error) => console.log(error instanceof WattnError, error.name + ': ' + error.message);
    try {
      const embed = await pipeline('feature-extraction', ${JSON.stringify(tiny)}, ${JSON.stringify(options)});
      const texts = Array.from({ length: 3000 }, (_, i) => 'the river of boat ' + i);
      const call = embed(texts);
      ${end}
      await call.catch(said);
      await embed('later').catch(said);
      await embed.warmup().catch(said);
      await embed.dispose();
    } catch (error) {
      said(error);
    }`;
  const linesOf = (program: string) => {
    const { stdout, status } = spawnSync(process.execPath, ['--input-type=module', '-e', program], { timeout: 240_000 });
    expect(status).toBe(0);
    return String(stdout).trim().split('\n');
  };

  it('that ends by itself rejects its calls and all later ones', () => {
    for (const worker of [true, 2]) {
      const lines = linesOf(dying('for (const worker of workers) worker.terminate();', { worker }));
      expect(lines).toEqual(Array(3).fill('true StateError: worker: failed: it ended with exit code 1; load the model again'));
    }
  });

  it('that ends while another one loads, or for want of memory, rejects the load', () => {
    const [first] = linesOf(
      dying('', { worker: true }, 'resourceLimits: { maxOldGenerationSizeMb: 4, maxYoungGenerationSizeMb: 1 }'),
    );
    expect(first).toMatch(/^true StateError: worker: failed: .*memory/);
    const gone = linesOf(
      dying('', { worker: 3 }).replace('workers.push(this);', 'workers.push(this); if (workers.length > 1) this.terminate();'),
    );
    expect(gone).toEqual([
      expect.stringMatching(/^true StateError: worker: failed: it ended with exit code \d; load the model again$/),
    ]);
  });
});
