// Servers that are busy, disconnect or stall: a file is requested again for a while, only the missing part if the server supports ranges.
import { createHash } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { cache, env, pipeline } from 'wattn';
import { atFirst, id, longFiles, RangeHub, stall, status, type Fault } from './range_hub.js';
import { expectError, tiny, until } from './support.js';

/** The beginning of a file, and then the connection closes. */
const broken: Fault = (response, bytes) => {
  response.writeHead(200, { etag: '"one"', 'content-length': bytes.length });
  response.write(bytes.subarray(0, 3_000_000), () => response.destroy());
};

describe('a server', () => {
  const { remoteHost } = env;
  let hub: RangeHub;
  let expected: number[] = [];

  const vectors = async (options = {}) => {
    const embed = await pipeline('feature-extraction', id, options);
    const out = await embed(['the river', 'a boat']);
    await embed.dispose();
    return [...out.data];
  };

  beforeAll(async () => {
    const embed = await pipeline('feature-extraction', tiny);
    expected = [...(await embed(['the river', 'a boat'])).data];
    await embed.dispose();
  });
  beforeEach(async () => {
    hub = new RangeHub(longFiles());
    await hub.start();
  });
  afterEach(async () => {
    env.remoteHost = remoteHost;
    await hub.stop();
  });

  for (const code of [408, 429, 500, 502, 503, 504]) {
    it(`that responds ${code} at first is asked again`, async () => {
      for (const file of ['config.json', 'model.safetensors']) hub.faults.set(file, atFirst(2, status(code)));
      expect(await vectors()).toEqual(expected);
      expect(hub.gets('config.json').length).toBe(3);
    });
  }

  it('that stays busy is an error with its status, and others are not asked again', async () => {
    hub.faults.set('config.json', status(503));
    expect((await expectError(vectors(), 'NetworkError', /config\.json: status 503 from http/)).status).toBe(503);
    expect(hub.gets('config.json').length).toBe(4);
    hub.requests = [];
    hub.faults.set('config.json', status(403));
    expect((await expectError(vectors(), 'NetworkError', /status 403/)).status).toBe(403);
    expect(hub.gets('config.json').length).toBe(1);
  });

  it('that names a time is asked no earlier, and not at all if it is far away', async () => {
    const times: number[] = [];
    const named: Fault = (response, bytes, request) => {
      times.push(performance.now());
      return times.length < 2 ? status(429, { 'retry-after': '1' })(response, bytes, request) : 'none';
    };
    hub.faults.set('config.json', named);
    expect(await vectors()).toEqual(expected);
    expect((times[1] as number) - (times[0] as number)).toBeGreaterThanOrEqual(990);
    hub.requests = [];
    hub.faults.set('config.json', status(429, { 'retry-after': new Date(Date.now() + 3_600_000).toUTCString() }));
    await expectError(vectors(), 'NetworkError', /status 429 .*\(the server asks to wait 3\d\d\d s\)/);
    expect(hub.gets('config.json').length).toBe(1);
  });

  it('is not waited for once the signal fires', async () => {
    hub.faults.set('config.json', status(503, { 'retry-after': '50' }));
    const controller = new AbortController();
    const given = vectors({ signal: controller.signal });
    await until(() => hub.gets('config.json').length === 1);
    controller.abort(new Error('enough'));
    await expectError(given, 'AbortError', /enough/);
  });

  it('that breaks off again and again is asked for the rest each time', async () => {
    const weights = hub.files.get('model.safetensors') as Uint8Array;
    let most = 0;
    hub.faults.set('model.safetensors', (response, bytes, request) => {
      const from = Number(/bytes=(\d+)/.exec(request.headers.range ?? '')?.[1] ?? 0);
      const to = Math.min(from + 1_500_000, bytes.length);
      most = Math.max(most, to);
      const head = { etag: '"one"', 'content-length': bytes.length - from };
      if (from > 0) response.writeHead(206, { ...head, 'content-range': `bytes ${from}-${bytes.length - 1}/${bytes.length}` });
      else response.writeHead(200, head);
      if (to === bytes.length) return response.end(bytes.subarray(from));
      return response.write(bytes.subarray(from, to), () => response.destroy());
    });
    expect(await vectors()).toEqual(expected);
    expect(most).toBe(weights.length);
    expect(hub.weights().length).toBeGreaterThanOrEqual(Math.ceil(weights.length / 1_500_000));
  });

  it('without ranges sends all again, of which the known beginning is skipped', async () => {
    hub.ranges = false;
    hub.faults.set('model.safetensors', atFirst(1, broken));
    expect(await vectors()).toEqual(expected);
    expect(hub.weights().length).toBe(2);
  });

  it('whose file changes after it broke off does not mix two files', async () => {
    hub.faults.set('model.safetensors', atFirst(1, (response, bytes) => {
      response.writeHead(200, { etag: '"old"', 'content-length': bytes.length });
      response.write(bytes.subarray(0, 3_000_000), () => response.destroy());
    })); // prettier-ignore
    await expectError(vectors(), 'NetworkError', /model\.safetensors: the connection broke after \d+ of \d+ bytes/);
  });

  it('that does not say which part it sends is asked for the whole file', async () => {
    const unnamed: Fault = (response, bytes, request) => {
      if (request.headers.range) return response.writeHead(206, { etag: '"one"' }).end(bytes.subarray(5));
      return atFirst(hub.weights().length === 1 ? 1 : 0, broken)(response, bytes, request);
    };
    hub.faults.set('model.safetensors', unnamed);
    expect(await vectors()).toEqual(expected);
    expect(hub.weights().map((line) => /bytes=/.test(line))).toEqual([false, true, false]);
    hub.faults.set('config.json', (response, bytes) => response.writeHead(206, { etag: '"one"' }).end(bytes));
    await expectError(vectors(), 'NetworkError', /config\.json: expected the whole file, found a part/);
  });

  it('that stalls is asked again, and is an error if it stalls for ever', async () => {
    for (const at of [0, 100, 2_000_000]) {
      hub.faults.set('model.safetensors', atFirst(1, stall(at)));
      hub.faults.set('tokenizer.json', atFirst(1, stall(at)));
      hub.faults.set(
        'config.json',
        atFirst(1, () => undefined),
      ); // no response at all
      expect(await vectors({ timeout: 200 })).toEqual(expected);
      expect(await vectors({ timeout: 200, worker: true })).toEqual(expected);
    }
    hub.faults.clear();
    hub.faults.set('tokenizer.json', stall(100));
    await expectError(
      vectors({ timeout: 50 }),
      'NetworkError',
      /tokenizer\.json: .*after 100 bytes \(http.*\): the server sent nothing for 50 ms/,
    );
    hub.faults.set('tokenizer.json', () => undefined);
    await expectError(vectors({ timeout: 50 }), 'NetworkError', /tokenizer\.json: no response .*\(option 'timeout'\)/);
    await expectError(vectors({ timeout: -1 }), 'InputError', /option 'timeout': expected a whole number/);
  });

  describe('that names the SHA-256 of a file', () => {
    const { useCache, cacheDir } = env;
    const shaOf = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex');
    let wrong: Fault;

    beforeEach(() => {
      env.useCache = true;
      env.cacheDir = mkdtempSync(join(tmpdir(), 'wattn-sha-'));
      const weights = hub.files.get('model.safetensors') as Uint8Array;
      const head = { etag: `"${shaOf(weights)}"` };
      hub.etag = head.etag;
      // The first response breaks off, and every part has a wrong bit in the data of a tensor.
      let broke = false;
      wrong = (response, bytes, request) => {
        const from = Number(/bytes=(\d+)/.exec(request.headers.range ?? '')?.[1] ?? 0);
        if (from === 0 && broke) return 'none';
        broke = true;
        if (from === 0) {
          response.writeHead(200, { ...head, 'content-length': bytes.length });
          return response.write(bytes.subarray(0, 5_000_000), () => response.destroy());
        }
        const part = bytes.slice(from);
        part[100] = (part[100] as number) ^ 1;
        const range = `bytes ${from}-${bytes.length - 1}/${bytes.length}`;
        return response.writeHead(206, { ...head, 'content-range': range }).end(part);
      };
    });
    afterEach(() => {
      rmSync(env.cacheDir as string, { recursive: true });
      Object.assign(env, { useCache, cacheDir });
    });

    it('is not believed when its parts have other bytes: the file is downloaded whole', async () => {
      hub.faults.set('model.safetensors', wrong);
      expect(await vectors()).toEqual(expected);
      expect(hub.weights().map((line) => /bytes=/.test(line))).toEqual([false, true, false]);
      hub.requests = [];
      expect(await vectors()).toEqual(expected);
      expect(hub.weights()).toEqual([]);
    });

    it('is not believed either when another load began the file', async () => {
      hub.cut = 5_000_000;
      await expectError(vectors(), 'NetworkError', /the connection broke/);
      hub.cut = Infinity;
      hub.faults.set('model.safetensors', wrong);
      hub.requests = [];
      expect(await vectors()).toEqual(expected);
      expect(hub.weights().length).toBeGreaterThan(1);
      const kept = (await cache.list(id)).find(({ file }) => file === 'model.safetensors');
      expect(kept?.complete).toBe(true);
      expect(await vectors({ local_files_only: true })).toEqual(expected);
    });

    it('sends all again where nothing is cached', async () => {
      env.useCache = false;
      hub.faults.set('model.safetensors', wrong);
      expect(await vectors()).toEqual(expected);
      expect(hub.weights().map((line) => /bytes=/.test(line))).toEqual([false, false]);
    });

    it('is only one whose tag is that hash', async () => {
      for (const other of ['0'.repeat(64), 'f'.repeat(64)]) {
        hub.etag = `"${other}"`;
        hub.faults.set('model.safetensors', atFirst(1, (response, bytes) => {
          response.writeHead(200, { etag: hub.etag, 'x-xet-hash': other, 'content-length': bytes.length });
          response.write(bytes.subarray(0, 5_000_000), () => response.destroy());
        })); // prettier-ignore
        expect(await vectors()).toEqual(expected);
        expect(await cache.delete(id)).toBeGreaterThan(0);
      }
    });
  });
});
