// GGUF repositories on the Hub: which file a model argument selects, the requests, and the errors.
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { AutoTokenizer, cache, describeModel, env, pipeline, type LoadOptions } from 'wattn';
import { expectError, goldens, serveHub, type Hub } from './support.js';

const gguf = (name: string) => readFileSync(join(goldens, 'gguf', `${name}.gguf`));
const text = 'A small boat waits below the old bridge.';
const hubs: Hub[] = [];
const { remoteHost, useCache } = env;
let folder: string;

/** name: of the file in goldens/gguf whose bytes it has. */
async function hubOf(files: Record<string, string>, { id = 'org/Tiny-GGUF', revision = 'main', list = true, token = '' } = {}) {
  const api = (request: IncomingMessage, response: ServerResponse) => {
    const isList = request.url === `/api/models/${id}/revision/${revision}`;
    if (!isList || !list) return response.writeHead(404).end();
    if (token && request.headers.authorization !== `Bearer ${token}`) return response.writeHead(401).end();
    const siblings = ['.gitattributes', 'README.md', ...Object.keys(files)].map((rfilename) => ({ rfilename }));
    return response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ siblings }));
  };
  const bytes = new Map(Object.entries(files).map(([file, name]) => [file, gguf(name)]));
  const hub = await serveHub(bytes, `/${id}/resolve/${revision}/`, { '': api });
  hubs.push(hub);
  env.remoteHost = hub.url;
  return hub;
}

const options = (): LoadOptions => ({ cache_dir: folder });

async function vectorOf(model: string | { [name: string]: Buffer }, more: LoadOptions = {}): Promise<Float32Array> {
  const embed = await pipeline('feature-extraction', model, { ...options(), ...more });
  const { data } = await embed(text);
  await embed.dispose();
  return data;
}

const kFiles = { 'tiny-q4_k_m.gguf': 'q4_0', 'tiny-q8_0.gguf': 'q8_0', 'tiny-f32.gguf': 'f32' };
const ofFile = (name: string) => vectorOf({ 'model.gguf': gguf(name) });

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'wattn-hub-gguf-'));
  env.useCache = true;
});
afterEach(async () => {
  Object.assign(env, { remoteHost, useCache, allowRemoteModels: true });
  await Promise.all(hubs.splice(0).map((hub) => hub.close()));
  rmSync(folder, { recursive: true });
});

describe('a hub id of GGUF files', () => {
  it('has the file of its tag, in any case, by one list and one download', async () => {
    const hub = await hubOf(kFiles);
    expect(await vectorOf('org/Tiny-GGUF:Q8_0')).toEqual(await ofFile('q8_0'));
    expect(hub.requests).toEqual(['GET /api/models/org/Tiny-GGUF/revision/main', 'GET /org/Tiny-GGUF/resolve/main/tiny-q8_0.gguf']);
    expect(await vectorOf('org/Tiny-GGUF:f32')).toEqual(await ofFile('f32'));
  });

  it('is Q4_K_M where no tag is given, else Q8_0', async () => {
    await hubOf(kFiles);
    expect(await vectorOf('org/Tiny-GGUF')).toEqual(await ofFile('q4_0'));
    await hubOf({ 'a-Q8_0.gguf': 'q8_0', 'a-F32.gguf': 'f32' });
    expect(await vectorOf('org/Tiny-GGUF')).toEqual(await ofFile('q8_0'));
  });

  it('may have any name if it has a tag, and another revision', async () => {
    await hubOf({ 'deep/model.Q8_0.gguf': 'q8_0' }, { id: 'some.one/else', revision: 'refs/pr/1' });
    expect(await vectorOf('some.one/else:Q8_0', { revision: 'refs/pr/1' })).toEqual(await ofFile('q8_0'));
  });

  it('is no part of another name, no part of a file and no file of a picture model', async () => {
    await hubOf({
      'a-UD-Q4_K_M.gguf': 'q8_0',
      'mmproj-Q4_K_M.gguf': 'q4_0',
      'a-Q4_K_M-00001-of-00002.gguf': 'q4_0',
      'a-Q4_K_M.gguf': 'f32',
      'aQ4_K_M.gguf': 'q4_0',
      'a-Q4_K_ML.gguf': 'q4_0',
    });
    expect(await vectorOf('org/Tiny-GGUF')).toEqual(await ofFile('f32'));
  });

  it('keeps dtype what it is: how weights are held', async () => {
    await hubOf(kFiles);
    const embed = await pipeline('feature-extraction', 'org/Tiny-GGUF:f32', { ...options(), dtype: 'q8' });
    expect(embed.info().dtype).toBe('q8');
    await embed.dispose();
  });

  it('serves tokenizers and descriptions', async () => {
    await hubOf(kFiles);
    expect((await describeModel('org/Tiny-GGUF:Q8_0', options())).kind).toBe('encoder');
    const own = await AutoTokenizer.from_pretrained({ 'model.gguf': gguf('q8_0') });
    const tokenizer = await AutoTokenizer.from_pretrained('org/Tiny-GGUF:Q8_0', options());
    expect(tokenizer.encode(text)).toEqual(own.encode(text));
  });

  it('comes from the cache without a request, and without a network', async () => {
    const hub = await hubOf(kFiles);
    const first = await vectorOf('org/Tiny-GGUF');
    expect(await cache.has('org/Tiny-GGUF', options())).toBe(true);
    hub.requests.splice(0);
    expect(await vectorOf('org/Tiny-GGUF')).toEqual(first);
    expect(await vectorOf('org/Tiny-GGUF', { local_files_only: true })).toEqual(first);
    expect(hub.requests).toEqual([]);
    await expectError(
      vectorOf('org/Tiny-GGUF:F32', { local_files_only: true }),
      'ModelFormatError',
      /GGUF file F32 in .*found none/,
    );
    expect(hub.requests).toEqual([]);
  });

  it('comes from the cache where the usual file is not there and the network is gone', async () => {
    const hub = await hubOf({ 'a-Q8_0.gguf': 'q8_0' });
    const first = await vectorOf('org/Tiny-GGUF');
    await hub.close();
    hubs.splice(0);
    expect(await vectorOf('org/Tiny-GGUF', { timeout: 100 })).toEqual(first);
  });

  it('is looked for under its usual names where a mirror has no list', async () => {
    await hubOf({ 'Tiny-Q8_0.gguf': 'q8_0' }, { list: false });
    expect(await vectorOf('org/Tiny-GGUF')).toEqual(await ofFile('q8_0'));
    await expectError(vectorOf('org/Tiny-GGUF:Q5_0'), 'ModelFormatError', /GGUF file Q5_0 in .*, found none/);
  });

  it('sends the token with the list', async () => {
    await hubOf(kFiles, { token: 'hf_secret' });
    expect(await vectorOf('org/Tiny-GGUF:Q8_0', { token: 'hf_secret' })).toEqual(await ofFile('q8_0'));
    await cache.delete(undefined, options());
    const error = await expectError(vectorOf('org/Tiny-GGUF:Q8_0', { token: 'hf_other' }), 'NetworkError', /status 401/);
    expect(error.message).not.toMatch(/hf_/);
  });

  it('that is missing is answered by those that load', async () => {
    await hubOf({ 'a-Q5_K_M.gguf': 'q8_0', 'a-IQ3_S.gguf': 'q8_0', 'a-F16.gguf': 'f32' });
    await expectError(
      vectorOf('org/Tiny-GGUF'),
      'ModelFormatError',
      /expected a GGUF file Q4_K_M or Q8_0 in 'org\/Tiny-GGUF', found none; looked in http:.*\/org\/Tiny-GGUF\/resolve\/main\/; these load: a-Q5_K_M\.gguf, a-F16\.gguf$/,
    );
    await expectError(
      vectorOf('org/Tiny-GGUF:IQ3_S'),
      'UnsupportedError',
      /a-IQ3_S\.gguf: expected a supported type, found IQ3_S; these load: a-Q5_K_M\.gguf, a-F16\.gguf$/,
    );
    await hubOf({ 'a-Q8_0-00001-of-00002.gguf': 'q8_0' });
    await expectError(vectorOf('org/Tiny-GGUF'), 'ModelFormatError', /found it only in parts \(a-Q8_0-00001-of-00002\.gguf\)/);
    env.allowRemoteModels = false;
    await expectError(vectorOf('org/Tiny-GGUF'), 'ModelFormatError', /found none/);
  });

  it('whose list is none is an error', async () => {
    for (const [body, message] of [
      ['[', /revision\/main: /],
      ['{}', /expected the list 'siblings', found none/],
      ['null', /expected the list 'siblings'/],
      ['{"siblings":[null,{"rfilename":3},{}]}', /found none/],
    ] as const) {
      const hub = await serveHub(new Map(), '/none/', { '': (_, response) => response.writeHead(200).end(body) });
      hubs.push(hub);
      env.remoteHost = hub.url;
      await expectError(vectorOf('org/Tiny-GGUF:Q8_0'), 'ModelFormatError', message);
    }
  });
});
