// The built package in real browsers, under a strict Content-Security-Policy.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { AutoTokenizer, pipeline } from 'wattn';
import { expectNear, mixedTexts, readJson, root, tiny } from '../web/support.js';
import { OpenBrowser, servePages, type OpenPage, type PageServer } from './support.js';

export function page(browser: OpenBrowser): void {
  const texts = mixedTexts(100);
  const { engine, said } = browser;
  let server: PageServer;
  let page: OpenPage;
  let expected: number[];

  const call = (name: string, ...args: unknown[]) => page.call(name, ...args);

  beforeAll(async () => {
    const embed = await pipeline('feature-extraction', tiny);
    expected = Array.from((await embed(texts)).data);
    await embed.dispose();
    server = await servePages();
    page = await browser.page(server.url);
  });
  afterAll(async () => {
    await page?.close();
    server?.close();
  });

  for (const kind of ['url', 'place', 'near', 'bytes', 'blobs']) {
    it(`gives the bits of Node from a model by ${kind}`, async () => {
      const out = await call('embed', kind, texts);
      expect(out.dims).toEqual([100, 32]);
      expect(out.data).toEqual(expected);
      expect(out.wasm).toBe(engine.wasm);
      const steps = out.events.filter((event: any) => event.status === 'progress');
      expect(steps.at(-1)).toMatchObject({ loaded: 165622, total: 165622, progress: 100 });
      expect(out.events.at(-1).status).toBe('ready');
    });
  }

  it('loads one WebAssembly file to embed and to generate', async () => {
    const fresh = await browser.page(server.url);
    expect(await fresh.call('embedAndGenerate')).toEqual({ tokens: 3, wasm: [`/dist/wattn-${engine.wasm}.wasm`] });
    await fresh.close();
  });

  it('encodes many texts in workers and in the page alike', async () => {
    const tokenizer = await AutoTokenizer.from_pretrained(tiny);
    const ids = texts.map((text) => tokenizer.encode(text));
    for (const worker of [false, 2]) expect(await call('encodeBatch', texts, { worker })).toEqual(ids);
    await tokenizer.dispose();
  });

  it('constrains a text as Node does, in the page and in a worker', async () => {
    const options = { response_format: { type: 'regex', regex: '(the|boat)( [a-z]{1,9}){2}' }, return_full_text: false, max_new_tokens: 40 } as const; // prettier-ignore
    const generate = await pipeline('text-generation', join(root, 'tests/goldens/decoders/llama'));
    const [{ generated_text: text }] = await generate('abc', options);
    await generate.dispose();
    expect(text).toMatch(/^(the|boat)( [a-z]{1,9}){2}$/);
    const fresh = await browser.page(server.url);
    const here = await fresh.call('constrained', options, false);
    expect(here).toEqual({ text, wasm: [`/dist/wattn-${engine.wasm}.wasm`, '/dist/wattn-constraints.wasm'] });
    expect((await fresh.call('constrained', options, true)).text).toBe(text);
    await fresh.close();
  });

  it.each([
    ['the model in the package', undefined, '/dist/wattn-default.gguf'],
    ['a packed model', '/goldens/gguf/q8_0.gguf', '/goldens/gguf/q8_0.gguf'],
  ])('asks for nothing that is not there, and once for each file, with %s', async (_, model, place) => {
    const fresh = await browser.page(server.url);
    const { data, compiled, requests } = await fresh.call('firstVector', model ?? null, { threads: 1 });
    const embed = await pipeline('feature-extraction', model && join(root, 'tests', model), { threads: 1 });
    expect(data).toEqual([...(await embed('one text')).data]);
    await embed.dispose();
    expect(compiled).toEqual(['compileStreaming']);
    expect(requests.map(([path]: [string]) => path).sort()).toEqual([`/dist/wattn-${engine.wasm}.wasm`, place].sort());
    for (const [, status] of requests) expect([200, 0]).toContain(status); // 0: this engine does not say
    await fresh.close();
  });

  it('loads the full WebAssembly for a model that the small one does not know', async () => {
    const fresh = await browser.page(server.url);
    const wasm = [`/dist/wattn-${engine.wasm}.wasm`, `/dist/wattn-full-${engine.wasm}.wasm`];
    expect(await fresh.call('embedRare')).toEqual({ dims: [1, 32], wasm });
    expect(await fresh.call('embedRare', { worker: true })).toMatchObject({ dims: [1, 32] });
    await fresh.close();
  });

  it('gives the bits of Node from Files of a directory, picked where the driver can', async () => {
    if (engine.picksDirectories) await page.pick('#directory', tiny);
    expect((await call('embed', engine.picksDirectories ? 'picked' : 'files', texts)).data).toEqual(expected);
  });

  it('equals the reference', async () => {
    const { rows, torch_f32_to_exact } = readJson('bert-tiny/embeddings.json');
    const out = await call('embed', 'url', rows.map((row: any) => row.text)); // prettier-ignore
    expectNear(out.data, rows.flatMap((row: any) => row.vector), torch_f32_to_exact); // prettier-ignore
  });

  for (const dtype of ['f32', 'f16', 'q16', 'q8', 'q4'] as const) {
    it(`gives the bits of Node in ${dtype}`, async () => {
      const embed = await pipeline('feature-extraction', tiny, { dtype });
      const { data } = await embed(texts);
      await embed.dispose();
      expect((await call('inMode', { dtype }, texts)).data).toEqual(Array.from(data));
    });
  }

  it('gives the recorded bits of every format, task, tokenizer and kind of training', async () => {
    expect(await call('answers')).toEqual(JSON.parse(readFileSync(join(root, 'tests/engines/answers.json'), 'utf8')));
  });

  it('gives the bits of Node from a module worker', async () => {
    expect(await call('inWorker', texts)).toEqual({ data: expected, dims: [100, 32] });
  });

  it('names what went wrong', async () => {
    const typed = (name: string, message: RegExp) => ({ name, message: expect.stringMatching(message), isWattnError: true });
    expect(await call('failing', '/app/')).toMatchObject(typed('ModelFormatError', /expected this file from http.*, found HTML/));
    expect(await call('failing', '/gone/')).toMatchObject(
      typed('ModelFormatError', /expected this file .*http:\/\/127\.0\.0\.1:\d+\/gone\//),
    );
    expect(await call('failing', '/model/', { wasmUrl: '/gone.wasm' })).toMatchObject(
      typed('NetworkError', /gone\.wasm, found status 404/),
    );
    expect(await call('failing', '/model/', { wasmUrl: '/app/x.wasm' })).toMatchObject(
      typed('NetworkError', /found HTML \(text\/html/),
    );
    expect(await call('failing', '/model/', { local_files_only: true })).toMatchObject(typed('InputError', /needs the network/));
    expect(await call('failing', '/gone/', { worker: true })).toMatchObject(typed('ModelFormatError', /expected this file/));
    said.splice(0).forEach((line) => expect(line).toMatch(/404/)); // the browser's own word on files that are not there
  });

  it('has one thread, and says why', async () => {
    const { info, data } = await call('inMode', { threads: 4 }, texts);
    expect(info).toMatchObject({ threads: 1, threads_reason: 'this page is not cross-origin isolated', workers: 0 });
    expect(data).toEqual(expected);
  });

  it('gives the same bits in worker mode and from a pool', async () => {
    for (const worker of [true, 2]) {
      const { info, data } = await call('inMode', { worker }, texts);
      expect(info).toMatchObject({ workers: Number(worker), wasm: engine.wasm });
      expect(data).toEqual(expected);
    }
  });

  describe('that is isolated', () => {
    let isolated: PageServer;
    beforeAll(async () => {
      isolated = await servePages({ isolated: true });
    });
    afterAll(() => isolated?.close());

    it('has threads where memory can be shared, on its own thread and in a worker, and the same bits', async () => {
      // Only with SharedArrayBuffer, which isolated pages have in Safari, is WebKitGTK what Safari is.
      const withThreads = engine.hasThreads ? browser : new OpenBrowser(browser.name, { sharedMemory: true });
      if (withThreads !== browser) await withThreads.open();
      try {
        const other = await withThreads.page(isolated.url);
        for (const options of [{ threads: 2 }, { threads: 3, dtype: 'f32' }, { threads: 2, worker: true }]) {
          const { info, data } = await other.call('inMode', options, texts);
          expect(info.threads_reason).toBeUndefined();
          expect(info.threads).toBe(options.threads);
          expect(data).toEqual(expected);
        }
        await other.close();
      } finally {
        if (withThreads !== browser) await withThreads.close();
      }
    });

    it('has one thread without SharedArrayBuffer, and says why', async () => {
      const other = await browser.page(isolated.url);
      if (engine.hasThreads) await other.call('withoutSharedArrayBuffer');
      const { info, data } = await other.call('inMode', { threads: 2 }, texts);
      expect(info).toMatchObject({ threads: 1, threads_reason: 'this engine has no SharedArrayBuffer' });
      expect(data).toEqual(expected);
      await other.close();
    });
  });

  it('stops loading when told', async () => {
    expect(await call('aborted')).toEqual(['AbortError', 'enough']);
    expect((await call('embed', 'url', texts)).data).toEqual(expected);
  });

  it('stays silent, and within its policy', () => {
    expect(said).toEqual([]);
  });
}
