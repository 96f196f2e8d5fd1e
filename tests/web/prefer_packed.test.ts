// A smaller file in a model's own repository: `prefer: 'packed'` loads it, and describeModel reports it.
import { mkdtempSync, rmSync } from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { AutoModel, cache, describeModel, env, packModel, pipeline, type LoadOptions } from 'wattn';
import { expectError, serveHub, tiny, type Files, type Hub } from './support.js';
import { wideFiles } from './wide.js';

const hubs: Hub[] = [];
const { remoteHost, useCache } = env;
const { warn } = console;
let folder: string;
let told: string[];

/** The wide model with packed files beside its weights. list: whether the hub lists files, and with their sizes. */
async function hubOf(packed: Record<string, Uint8Array>, list: 'sizes' | 'names' | 'none' = 'sizes', revision = 'main') {
  const files: Files = new Map([...wideFiles(tiny), ...Object.entries(packed)]);
  const api = (request: IncomingMessage, response: ServerResponse) => {
    if (list === 'none' || request.url !== `/api/models/org/tiny/revision/${revision}?blobs=true`)
      return response.writeHead(404).end();
    const siblings = [...files].map(([rfilename, { length: size }]) => ({ rfilename, ...(list === 'sizes' && { size }) }));
    return response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ siblings }));
  };
  const hub = await serveHub(files, `/org/tiny/resolve/${revision}/`, { '': api });
  hubs.push(hub);
  env.remoteHost = hub.url;
  return { hub, files };
}

const pack = (dtype: 'native' | 'q8' | 'q4') => packModel(wideFiles(tiny), { dtype });
async function vectorOf(model: any, options: LoadOptions = {}): Promise<Float32Array> {
  const embed = await pipeline('feature-extraction', model, { cache_dir: folder, ...options });
  const { data } = await embed('A small boat waits below the old bridge.');
  await embed.dispose();
  return data;
}

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'wattn-prefer-'));
  env.useCache = true;
  told = [];
  console.warn = (text: string) => void told.push(text);
});
afterEach(async () => {
  Object.assign(env, { remoteHost, useCache, allowRemoteModels: true });
  console.warn = warn;
  await Promise.all(hubs.splice(0).map((hub) => hub.close()));
  rmSync(folder, { recursive: true });
});

const prefer = 'packed' as const;

describe("prefer: 'packed'", () => {
  it('loads the file of its data type, which is all that is asked for, and then nothing', async () => {
    const [native, q8, q4] = [await pack('native'), await pack('q8'), await pack('q4')];
    const { hub, files } = await hubOf({ 'model-W8.gguf': native, 'tiny-q8_0.gguf': q8, 'tiny.Q4_0.gguf': q4 });
    const list = 'GET /api/models/org/tiny/revision/main?blobs=true';
    expect(await vectorOf('org/tiny', { prefer, dtype: 'q8' })).toEqual(await vectorOf(files, { dtype: 'q8' }));
    expect(hub.requests.splice(0)).toEqual([list, 'GET /org/tiny/resolve/main/model-W8.gguf']);
    expect(await vectorOf('org/tiny', { prefer, dtype: 'q4' })).toEqual(await vectorOf({ 'a.gguf': q4 }, { dtype: 'q4' }));
    expect(hub.requests.splice(0)).toEqual([list, 'GET /org/tiny/resolve/main/tiny.Q4_0.gguf']);
    for (const more of [{}, { local_files_only: true }, { worker: true }, { dtype: 'q8' }] as const)
      expect(await vectorOf('org/tiny', { prefer, ...more })).toEqual(await vectorOf(files, { dtype: 'q8' }));
    expect(hub.requests).toEqual([]);
    expect(told).toEqual([]);
  });

  it("takes llama.cpp's Q8_0 where there is no file of wattn's", async () => {
    const q8 = await pack('q8');
    const { hub } = await hubOf({ 'deep/tiny.Q8_0.gguf': q8, 'mmproj-Q8_0.gguf': new Uint8Array(9) });
    expect(await vectorOf('org/tiny', { prefer, dtype: 'q8' })).toEqual(await vectorOf({ 'a.gguf': q8 }, { dtype: 'q8' }));
    expect(hub.requests.at(-1)).toBe('GET /org/tiny/resolve/main/deep/tiny.Q8_0.gguf');
  });

  it('belongs to a revision', async () => {
    const { hub } = await hubOf({ 'model-W8.gguf': await pack('native') }, 'sizes', 'v2');
    await vectorOf('org/tiny', { prefer, revision: 'v2' });
    expect(hub.requests.at(-1)).toBe('GET /org/tiny/resolve/v2/model-W8.gguf');
  });

  it('loads the weights where there is none, and says so once', async () => {
    const { files } = await hubOf({});
    for (let i = 0; i < 2; ++i)
      expect(await vectorOf('org/tiny', { prefer, dtype: 'q8' })).toEqual(await vectorOf(files, { dtype: 'q8' }));
    expect(told).toEqual([
      "wattn: option 'prefer': 'org/tiny' has no packed file (model-W8.gguf, model-Q8_0.gguf or of such a name); its weights are loaded",
    ]);
    const { length } = told;
    expect(await vectorOf(files, { prefer, dtype: 'q8' })).toEqual(await vectorOf(files, { dtype: 'q8' })); // files at hand, too
    expect(told.length).toBe(length + 1);
  });

  it('asks for the names of `wattn pack --hub` where nothing is listed, and in folders', async () => {
    const native = await pack('native');
    const { hub, files } = await hubOf({ 'model-W8.gguf': native }, 'none');
    expect(await vectorOf('org/tiny', { prefer })).toEqual(await vectorOf(files, { dtype: 'q8' }));
    expect(hub.requests.at(-1)).toBe('GET /org/tiny/resolve/main/model-W8.gguf');
    expect(await vectorOf(files, { prefer })).toEqual(await vectorOf(files, { dtype: 'q8' }));
    const loaded = await AutoModel.from_pretrained(files, { prefer });
    expect(loaded.info().dtype).toBe('q8');
    await loaded.dispose();
  });

  it('is no other word', async () => {
    await expectError(
      vectorOf('org/tiny', { prefer: 'small' as 'packed' }),
      'InputError',
      /option 'prefer': expected one of 'packed', found 'small'/,
    );
  });
});

describe('describeModel', () => {
  it('knows how much a load downloads, and a smaller file', async () => {
    const native = await pack('native');
    const { hub, files } = await hubOf({ 'model-W8.gguf': native });
    const bytes = (files.get('model.safetensors') as Uint8Array).length;
    const packed = { file: 'model-W8.gguf', bytes: native.length };
    expect(await describeModel('org/tiny', { cache_dir: folder })).toMatchObject({ model_type: 'bert', bytes, packed });
    expect(hub.requests.filter((line) => !line.includes('.json'))).toEqual(['GET /api/models/org/tiny/revision/main?blobs=true']);
    expect(await describeModel('org/tiny', { cache_dir: folder, local_files_only: true })).not.toHaveProperty('packed');
    await vectorOf('org/tiny');
    hub.requests.splice(0);
    expect(await describeModel('org/tiny', { cache_dir: folder })).not.toHaveProperty('bytes'); // nothing is downloaded
    expect(hub.requests).toEqual([]);
  });

  it('leaves out what the hub does not say', async () => {
    for (const list of ['names', 'none'] as const) {
      await hubOf({ 'model-W8.gguf': await pack('native') }, list);
      const described = await describeModel('org/tiny', { cache_dir: folder });
      expect(described).toEqual({ model_type: 'bert', kind: 'encoder', heads: described.heads });
      await cache.delete(undefined, { cache_dir: folder });
    }
  });
});
