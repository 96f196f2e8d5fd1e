// The built package in real browsers, under a strict Content-Security-Policy.
import { pipeline } from 'wattn';
import { expectNear, mixedTexts, readJson, tiny } from '../web/support.js';
import { inBrowsers, servePages, type OpenPage, type PageServer } from './support.js';

inBrowsers('a page', (browser) => {
  const texts = mixedTexts(100);
  const { said } = browser;
  let server: PageServer;
  let page: OpenPage;
  let expected: number[];

  const call = (name: string, ...args: unknown[]) => page.call(name, ...args);

  beforeAll(async () => {
    const embed = await pipeline('feature-extraction', tiny);
    expected = Array.from((await embed(texts)).data);
    await embed.dispose();
    server = await servePages();
    await browser.open();
    page = await browser.page(server.url);
  });
  afterAll(async () => {
    await browser.close();
    server?.close();
  });

  for (const kind of ['url', 'place', 'near', 'bytes', 'blobs']) {
    it(`gives the bits of Node from a model by ${kind}`, async () => {
      const out = await call('embed', kind, texts);
      expect(out.dims).toEqual([100, 32]);
      expect(out.data).toEqual(expected);
      expect(out.wasm).toBe('relaxed');
      const steps = out.events.filter((event: any) => event.status === 'progress');
      expect(steps.at(-1)).toMatchObject({ loaded: 165622, total: 165622, progress: 100 });
      expect(out.events.at(-1).status).toBe('ready');
    });
  }

  it('loads one WebAssembly file to embed and to generate', async () => {
    const fresh = await browser.page(server.url);
    expect(await fresh.call('embedAndGenerate')).toEqual({ tokens: 3, wasm: ['/dist/wattn-relaxed.wasm'] });
    await fresh.close();
  });

  // No driver picks directories in Firefox.
  (browser.isChromium ? it : it.skip)('gives the bits of Node from Files of a picked directory', async () => {
    await page.pick('#directory', tiny);
    expect((await call('embed', 'files', texts)).data).toEqual(expected);
  });

  it('equals the reference', async () => {
    const { rows, torch_f32_to_exact } = readJson('bert-tiny/embeddings.json');
    const out = await call('embed', 'url', rows.map((row: any) => row.text)); // prettier-ignore
    expectNear(out.data, rows.flatMap((row: any) => row.vector), torch_f32_to_exact); // prettier-ignore
  });

  for (const dtype of ['f32', 'q16', 'q8', 'q4'] as const) {
    it(`gives the bits of Node in ${dtype}`, async () => {
      const embed = await pipeline('feature-extraction', tiny, { dtype });
      const { data } = await embed(texts);
      await embed.dispose();
      expect((await call('inMode', { dtype }, texts)).data).toEqual(Array.from(data));
    });
  }

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
      expect(info).toMatchObject({ workers: Number(worker), wasm: 'relaxed' });
      expect(data).toEqual(expected);
    }
  });

  it('has threads when it is isolated, on its own thread and in a worker, and the same bits', async () => {
    const isolated = await servePages({ isolated: true });
    const other = await browser.page(isolated.url);
    for (const options of [{ threads: 2 }, { threads: 3, dtype: 'f32' }, { threads: 2, worker: true }]) {
      const { info, data } = await other.call('inMode', options, texts);
      expect(info.threads_reason).toBeUndefined();
      expect(info.threads).toBe(options.threads);
      expect(data).toEqual(expected);
    }
    await other.close();
    isolated.close();
  });

  it('stops loading when told', async () => {
    expect(await call('aborted')).toEqual(['AbortError', 'enough']);
    expect((await call('embed', 'url', texts)).data).toEqual(expected);
  });

  it('stays silent, and within its policy', () => {
    expect(said).toEqual([]);
  });
});
