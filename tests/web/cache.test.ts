// The cache of downloads: a second load asks for nothing, a broken one goes on, a damaged one heals, a refusing one is no obstacle.
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { cache, env, pipeline } from 'wattn';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expectError, filesOf, tiny, tinyFiles, type Files } from './support.js';

const id = 'org/tiny';
const kPiece = 4 << 20;

/** A hub with ranges and etags. cut: ends the answer for the weights after so many bytes. */
class RangeHub {
  requests: string[] = [];
  cut = Infinity;
  etag = '"one"';
  ranges = true;
  private server!: Server;

  constructor(readonly files: Files) {}

  async start(): Promise<void> {
    this.server = createServer((request, response) => {
      this.requests.push(`${request.method} ${request.url}${request.headers.range ? ` ${request.headers.range}` : ''}`);
      const name = decodeURIComponent((request.url ?? '').replace(`/${id}/resolve/main/`, ''));
      const bytes = this.files.get(name);
      if (!bytes) return response.writeHead(404).end('none');
      const from = this.ranges ? Number(/bytes=(\d+)-/.exec(request.headers.range ?? '')?.[1] ?? 0) : 0;
      if (from > 0 && from >= bytes.length) return response.writeHead(416, { 'content-range': `bytes */${bytes.length}` }).end();
      const head = { etag: this.etag, 'content-length': bytes.length - from, 'content-type': 'application/octet-stream' };
      if (from > 0) response.writeHead(206, { ...head, 'content-range': `bytes ${from}-${bytes.length - 1}/${bytes.length}` });
      else response.writeHead(200, head);
      if (request.method === 'HEAD') return response.end();
      const end = name.endsWith('.safetensors') ? this.cut : Infinity;
      const part = bytes.subarray(from, Math.min(bytes.length, end));
      if (from + part.length === bytes.length) return response.end(part);
      return response.write(part, () => setTimeout(() => response.destroy(), 30));
    });
    await new Promise<void>((resolve) => this.server.listen(0, '127.0.0.1', resolve));
    env.remoteHost = `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  stop(): Promise<void> {
    this.server.closeAllConnections();
    return new Promise((resolve) => this.server.close(() => resolve()));
  }

  weights(): string[] {
    return this.requests.filter((line) => line.startsWith('GET') && line.includes('safetensors'));
  }
}

/** The tiny model with weights of several pieces: a tensor that is ignored makes them long. */
function longFiles(): Files {
  const files = tinyFiles();
  const bytes = files.get('model.safetensors') as Uint8Array;
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  const length = Number(view.getBigUint64(0, true));
  const header = JSON.parse(new TextDecoder().decode(bytes.subarray(8, 8 + length)));
  const data = bytes.subarray(8 + length);
  const more = 2 * kPiece;
  header['cls.predictions.bias'] = { dtype: 'F32', shape: [more / 4], data_offsets: [data.length, data.length + more] };
  const text = new TextEncoder().encode(JSON.stringify(header));
  const padded = Math.ceil(text.length / 8) * 8;
  const out = new Uint8Array(8 + padded + data.length + more).fill(32, 8, 8 + padded);
  new DataView(out.buffer).setBigUint64(0, BigInt(padded), true);
  out.set(text, 8);
  out.set(data, 8 + padded);
  files.set('model.safetensors', out);
  return files;
}

describe('the cache', () => {
  const before = { ...env };
  let folder = '';
  let hub: RangeHub;
  let expected: number[] = [];

  const vectors = async (options = {}) => {
    const embed = await pipeline('feature-extraction', id, { cache_dir: folder, ...options });
    const out = await embed(['the river', 'a boat']);
    await embed.dispose();
    return [...out.data];
  };
  const weightsFolder = () =>
    readdirSync(folder)
      .map((name) => join(folder, name))
      .find((path) => readFileSync(join(path, 'url'), 'utf8').endsWith('.safetensors')) as string;

  beforeAll(async () => {
    const embed = await pipeline('feature-extraction', tiny);
    expected = [...(await embed(['the river', 'a boat'])).data];
    await embed.dispose();
  });
  beforeEach(async () => {
    folder = mkdtempSync(join(tmpdir(), 'wattn-cache-'));
    hub = new RangeHub(longFiles());
    env.useCache = true;
    await hub.start();
  });
  afterEach(async () => {
    Object.assign(env, before);
    await hub.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  it('answers the second load without the weights being asked for, and then without a network', async () => {
    expect(await vectors()).toEqual(expected);
    expect(hub.weights().length).toBe(1);
    hub.requests = [];
    expect(await vectors()).toEqual(expected);
    expect(hub.weights()).toEqual([]);
    await hub.stop();
    expect(await vectors()).toEqual(expected);
    expect(await vectors({ local_files_only: true })).toEqual(expected);
  });

  it('goes on where a broken download stopped', async () => {
    hub.cut = kPiece + 1000;
    await expectError(vectors(), 'NetworkError');
    expect(await cache.has(id, { cache_dir: folder })).toBe(false);
    hub.cut = Infinity;
    hub.requests = [];
    expect(await vectors()).toEqual(expected);
    expect(hub.weights()).toEqual([`GET /${id}/resolve/main/model.safetensors bytes=${kPiece}-`]);
    expect(await cache.has(id, { cache_dir: folder })).toBe(true);
  });

  it('is not mistaken when the file changed between, or the server has no ranges', async () => {
    hub.cut = kPiece + 1000;
    await expectError(vectors(), 'NetworkError');
    hub.cut = Infinity;
    hub.etag = '"two"';
    expect(await vectors()).toEqual(expected);
    await cache.delete(id, { cache_dir: folder });
    hub.cut = kPiece + 1000;
    await expectError(vectors(), 'NetworkError');
    hub.cut = Infinity;
    hub.ranges = false;
    expect(await vectors()).toEqual(expected);
  });

  it('heals a damaged piece, a missing one and a broken list', async () => {
    expect(await vectors()).toEqual(expected);
    const path = weightsFolder();
    const piece = readFileSync(join(path, '0'));
    for (const damage of [
      () =>
        writeFileSync(
          join(path, '0'),
          piece.map((byte, i) => (i === 5000 ? byte ^ 1 : byte)),
        ),
      () => writeFileSync(join(path, '0'), piece.subarray(0, 100)),
      () => rmSync(join(path, '1')),
      () => writeFileSync(join(path, 'entry.json'), '{"pieces": [1, 2'),
      () => writeFileSync(join(path, 'entry.json'), ''),
    ]) {
      damage();
      expect(await vectors()).toEqual(expected);
      hub.requests = [];
      expect(await vectors()).toEqual(expected);
      expect(hub.weights()).toEqual([]);
    }
  });

  it('says what is damaged when the network is forbidden', async () => {
    expect(await vectors()).toEqual(expected);
    rmSync(join(weightsFolder(), '1'));
    const error = await expectError(vectors({ local_files_only: true }), 'InputError');
    expect(error.message).toMatch(/model\.safetensors: the cache's copy is damaged/);
    rmSync(folder, { recursive: true });
    expect((await expectError(vectors({ local_files_only: true }), 'InputError')).message).toMatch(/not in the cache/);
  });

  it('keeps nothing of HTML that came in place of a file', async () => {
    hub.files.set('config.json', new TextEncoder().encode('<!doctype html><title>Log in</title>'));
    await expectError(vectors(), 'ModelFormatError', /HTML/);
    hub.files.set('config.json', filesOf(tiny).get('config.json') as Uint8Array);
    expect(await vectors()).toEqual(expected);
  });

  it('loads all the same where nothing can be kept', async () => {
    const file = join(folder, 'taken');
    writeFileSync(file, '');
    expect(await vectors({ cache_dir: file })).toEqual(expected); // a file is no folder
    expect(statSync(file).size).toBe(0);
  });

  it('begins again where it is not known how long the file is, though all of it is kept', async () => {
    await vectors();
    const entry = join(weightsFolder(), 'entry.json');
    const { size, ...rest } = JSON.parse(readFileSync(entry, 'utf8'));
    expect(rest.pieces.length * kPiece).toBeGreaterThan(size); // so that the server has nothing there
    writeFileSync(entry, JSON.stringify(rest));
    expect(await vectors()).toEqual(expected);
    expect(JSON.parse(readFileSync(entry, 'utf8'))).toEqual({ ...rest, size });
  });

  it('serves two loads at once', async () => {
    expect(await Promise.all([vectors(), vectors(), vectors({ worker: true })])).toEqual([expected, expected, expected]);
    hub.requests = [];
    expect(await vectors()).toEqual(expected);
    expect(hub.weights()).toEqual([]);
  });

  it('lists, and deletes', async () => {
    await vectors();
    const files = await cache.list(id, { cache_dir: folder });
    const weights = files.find(({ file }) => file === 'model.safetensors');
    expect(weights).toMatchObject({ model: id, bytes: hub.files.get('model.safetensors')?.length, complete: true });
    expect(files.some(({ file }) => file === 'sentence_xlnet_config.json')).toBe(false);
    expect(await cache.has('org/other', { cache_dir: folder })).toBe(false);
    expect(await cache.delete(id, { cache_dir: folder })).toBe(files.length);
    expect(await cache.list(undefined, { cache_dir: folder })).toEqual([]);
    expect(readdirSync(folder)).toEqual([]);
    expect(existsSync(folder)).toBe(true);
  });

  it('can be turned off', async () => {
    env.useCache = false;
    expect(await vectors()).toEqual(expected);
    expect(readdirSync(folder)).toEqual([]);
  });
});
