// Paths from callers and from a repository's files stay inside the repository, on disk and on a server.
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { env, pipeline } from 'wattn';
import { isInside } from '../../web/source/inside.js';
import { edited, failure, tinyFiles } from './support.js';

const kOutside = ['..', '../x', 'a/../../x', 'a/..', './../x', '/etc', '/', '//x', 'a//b', '.', './a', 'a/.', '\\x', '..\\x', 'a\\..\\b', 'C:/x', 'c:x', '%2e%2e/x', '%2E./x', 'a/%2e%2e', 'a%2f..%2fb', 'a%5c..', 'a\0b', 'https://x']; // prettier-ignore

describe('a path', () => {
  it.each(kOutside)('%j leads elsewhere', (path) => expect(isInside(path)).toBe(false));
  it.each(['a', 'a/b', '1_Pooling', 'onnx/model.safetensors', '..a', 'a..', 'a...b', '...', 'ä ö', 'q4:latest', 'a%20b'])(
    '%j stays inside',
    (path) => expect(isInside(path)).toBe(true),
  );
});

/** What is asked for, by a server of the tiny model at any address, and of a folder with the same files beside it. */
let asked: string[];
let server: Server;
let folder: string;
const host = env.remoteHost;
beforeAll(async () => {
  const files = tinyFiles();
  server = createServer(({ url = '', method }, response) => {
    asked.push(url);
    const bytes = files.get(url.replace(/.*\//, ''));
    if (!bytes) return void response.writeHead(404).end();
    response.writeHead(200, { 'content-length': bytes.length }).end(method === 'HEAD' ? undefined : bytes);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  env.remoteHost = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  folder = mkdtempSync(join(tmpdir(), 'wattn-inside-'));
  for (const place of ['model', 'x', 'etc']) for (const [name, bytes] of files) write(`${place}/${name}`, bytes);
});
beforeEach(() => (asked = []));
afterAll(() => {
  env.remoteHost = host;
  server.closeAllConnections();
  server.close();
  rmSync(folder, { recursive: true });
});
function write(name: string, bytes: Uint8Array | string): void {
  mkdirSync(dirname(join(folder, name)), { recursive: true });
  writeFileSync(join(folder, name), bytes);
}

describe.each(['subfolder', 'model_file_name'])('option %s', (option) => {
  it.each(kOutside.filter((path) => path !== '/'))('%j is refused, and nothing is asked for', async (path) => {
    for (const model of ['o/m', join(folder, 'model'), `${env.remoteHost}o/m/`]) {
      const { name, message } = await failure(pipeline('feature-extraction', model, { [option]: path }));
      expect({ name, message }).toEqual({ name: 'InputError', message: expect.stringContaining(`option '${option}': expected a path inside the model, found`) }); // prettier-ignore
    }
    expect(asked).toEqual([]);
  });
});

describe('files of a repository that name others', () => {
  const shards = (name: string) => JSON.stringify({ metadata: {}, weight_map: { 'embeddings.word_embeddings.weight': name } });
  const kNaming: Record<string, (path: string) => Record<string, string | null>> = {
    'modules.json': (path) => ({
      'modules.json': JSON.stringify([
        { idx: 0, name: '0', path: '', type: 'sentence_transformers.models.Transformer' },
        { idx: 1, name: '1', path, type: 'sentence_transformers.models.Pooling' },
      ]),
    }),
    'model.safetensors.index.json': (path) => ({ 'model.safetensors': null, 'model.safetensors.index.json': shards(`${path}/model.safetensors`) }), // prettier-ignore
  };
  const kPaths = ['..', '../x', '/etc', 'a/../../x', '..\\x', '%2e%2e/x'];
  it.each(Object.entries(kNaming))('%s is refused', async (_, over) => {
    for (const path of kPaths) {
      write('named/config.json', edited('config.json', {}));
      for (const [name, bytes] of tinyFiles(over(path))) write(`named/${name}`, bytes);
      if (Object.hasOwn(over(path), 'model.safetensors')) rmSync(join(folder, 'named/model.safetensors'), { force: true });
      const { name } = await failure(pipeline('feature-extraction', join(folder, 'named')));
      expect({ path, name }).toEqual({ path, name: 'ModelFormatError' });
      rmSync(join(folder, 'named'), { recursive: true });
    }
  });
});
