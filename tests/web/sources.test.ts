import { getEventListeners } from 'node:events';
import { spawnSync } from 'node:child_process';
import { copyFileSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, relative } from 'node:path';
import { pathToFileURL } from 'node:url';
import { gzipSync } from 'node:zlib';
import { AutoTokenizer, env, inspectModel, pipeline, type LoadOptions, type ModelSpecifier, type ProgressInfo } from 'wattn';
import {
  expectError,
  headFiles,
  expectNear,
  readJson,
  serveHub,
  tiny,
  tinyFiles,
  turn,
  until,
  type Files,
  type Hub,
} from './support.js';

const texts = ['the', 'A small boat waits below the old bridge.'];
let expected: Float32Array;
const hubs: Hub[] = [];
const remoteHost = env.remoteHost;

async function vectorsOf(model: ModelSpecifier, options: LoadOptions = {}): Promise<Float32Array> {
  const embed = await pipeline('feature-extraction', model, options);
  const { data } = await embed(texts);
  await embed.dispose();
  return data;
}

async function hubOf(files: Files, special = {}, prefix = '/org/tiny/resolve/main/'): Promise<Hub> {
  const hub = await serveHub(files, prefix, special);
  hubs.push(hub);
  env.remoteHost = hub.url;
  return hub;
}

const load = (model: ModelSpecifier, options: LoadOptions = {}) => pipeline('feature-extraction', model, options);

beforeAll(async () => {
  expected = await vectorsOf(tiny);
});
afterEach(async () => {
  env.remoteHost = remoteHost;
  env.remotePathTemplate = '{model}/resolve/{revision}/';
  env.allowRemoteModels = true;
  env.fetch = undefined;
  await Promise.all(hubs.splice(0).map((hub) => hub.close()));
});

describe('a hub id', () => {
  it('has a revision that stays below it', async () => {
    for (const revision of ['', '.', '..']) {
      await expectError(load('org/tiny', { revision }), 'InputError', /'revision': expected a branch, a tag or a commit/);
    }
  });

  it('is read by the layout of the hub', async () => {
    const hub = await hubOf(tinyFiles());
    expect(await vectorsOf('org/tiny')).toEqual(expected);
    expect(hub.requests).toContain('GET /org/tiny/resolve/main/1_Pooling/config.json');
    expect(hub.requests.filter((request) => /index\.json/.test(request))).toEqual([]);
    expect(new Set(hub.requests).size).toBe(hub.requests.length);
  });

  it('has a revision, and another layout when told so', async () => {
    await hubOf(tinyFiles(), {}, '/org/tiny/resolve/refs/pr/1/');
    expect(await vectorsOf('org/tiny', { revision: 'refs/pr/1' })).toEqual(expected);
    await hubOf(tinyFiles(), {}, '/mirror/v1/org/tiny/');
    env.remoteHost += '/mirror/';
    env.remotePathTemplate = '{revision}/{model}';
    expect(await vectorsOf('org/tiny', { revision: 'v1' })).toEqual(expected);
  });

  it('may lack the optional files', async () => {
    const unasked = ['sentence_bert_config.json', 'config_sentence_transformers.json']; // only modules.json leads to them
    const optional = ['modules.json', 'tokenizer_config.json', ...unasked];
    const hub = await hubOf(tinyFiles(Object.fromEntries(optional.map((name) => [name, null]))));
    const embed = await load('org/tiny');
    expect((await embed('the')).dims).toEqual([1, 3, 32]);
    expect(embed.info().max_length).toBe(64);
    for (const name of optional) expect(hub.requests.includes(`GET /org/tiny/resolve/main/${name}`)).toBe(!unasked.includes(name));
    await embed.dispose();
  });

  it('asks for no file of sentence-transformers where only a head of transformers is needed', async () => {
    const files = headFiles('masked_lm');
    const hub = await hubOf(files);
    const fill = await pipeline('fill-mask', 'org/tiny');
    await fill.dispose();
    expect(hub.requests.filter((request) => /modules\.json|sentence/.test(request))).toEqual([]);
  });

  it('is inspected with the files that embedding needs, and no others', async () => {
    const hub = await hubOf(tinyFiles());
    await vectorsOf('org/tiny');
    const needed = hub.requests.splice(0).sort();
    await inspectModel('org/tiny');
    expect(hub.requests.sort()).toEqual(needed);
  });

  it('is refused without a network', async () => {
    const hub = await hubOf(tinyFiles());
    await expectError(load('org/tiny', { local_files_only: true }), 'InputError', /'org\/tiny' is a Hub id, and local_files_only/);
    await expectError(load(`${hub.url}/org/tiny`, { local_files_only: true }), 'InputError', /needs the network/);
    env.allowRemoteModels = false;
    for (const model of ['org/tiny', `${hub.url}/org/tiny`, new URL(`${hub.url}/org/tiny`)])
      await expectError(load(model), 'InputError', /env\.allowRemoteModels/);
    expect(hub.requests).toEqual([]);
    expect(await vectorsOf(tiny, { local_files_only: true })).toEqual(expected);
  });

  it('goes through env.fetch', async () => {
    await hubOf(tinyFiles());
    const seen: string[] = [];
    env.fetch = (url, init) => {
      seen.push(url);
      return fetch(url, { ...init, headers: { ...init.headers, authorization: 'Bearer t' } });
    };
    expect(await vectorsOf('org/tiny')).toEqual(expected);
    expect(seen).toContain(`${env.remoteHost}/org/tiny/resolve/main/config.json`);
  });
});

describe('a URL', () => {
  it('is a directory, with or without the slash, with its query', async () => {
    const hub = await hubOf(tinyFiles(), {}, '/models/tiny/');
    expect(await vectorsOf(`${hub.url}/models/tiny`)).toEqual(expected);
    expect(await vectorsOf(new URL(`${hub.url}/models/tiny/?key=a%2Fb#part`))).toEqual(expected);
    expect(hub.requests).toContain('GET /models/tiny/1_Pooling/config.json?key=a%2Fb');
  });
});

describe('files in memory', () => {
  const files = tinyFiles();

  it('may be bytes of any kind, in a Map or an object', async () => {
    expect(await vectorsOf(files)).toEqual(expected);
    expect(await vectorsOf(Object.fromEntries(files))).toEqual(expected);
    expect(await vectorsOf(new Map([...files].map(([name, bytes]) => [name, bytes.slice().buffer])))).toEqual(expected);
    expect(
      await vectorsOf(new Map([...files].map(([name, bytes]) => [name, new Blob([bytes as Uint8Array<ArrayBuffer>])]))),
    ).toEqual(expected);
    expect(await vectorsOf(new Map([...files].map(([name, bytes]) => [`./some\\dir/${name}`, Buffer.from(bytes)])))).toEqual(
      expected,
    );
  });

  it('may be Files, as a picker of directories gives them', async () => {
    const picked = [...files].map(([name, bytes]) => {
      const blob = new Blob([bytes as Uint8Array<ArrayBuffer>]);
      return Object.assign(blob, { name: name.split('/').at(-1) as string, webkitRelativePath: `tiny/${name}` });
    });
    expect(await vectorsOf(picked)).toEqual(expected);
    expect(await vectorsOf({ ...picked, length: picked.length } as ArrayLike<any>)).toEqual(expected);
  });

  it('name what is missing and what there is', async () => {
    const some = tinyFiles({ 'tokenizer.json': null });
    await expectError(
      load(some),
      'ModelFormatError',
      /^ModelFormatError: tokenizer\.json: expected this file .* found none; .*the given files \(.*config\.json/,
    );
    const shards = tinyFiles({ 'model.safetensors': null });
    await expectError(
      load(shards),
      'ModelFormatError',
      /^ModelFormatError: model\.safetensors: expected this file \(or model\.safetensors\.index\.json or pytorch_model\.bin or /,
    );
    const pooling = tinyFiles({ '1_Pooling/config.json': null });
    await expectError(load(pooling), 'ModelFormatError', /1_Pooling\/config\.json: expected this file/);
    await expectError(load({}), 'InputError', /found an empty list/);
    await expectError(load([]), 'InputError', /found an empty list/);
    await expectError(
      load({ 'config.json': 'text' } as any),
      'InputError',
      /model\['config\.json'\]: expected a Uint8Array, .* found 'text'/,
    );
    await expectError(load([{}] as any), 'InputError', /model\[0\]: expected a File, found an object/);
  });
});

describe('a path', () => {
  it('may be absolute, relative or a file: URL', async () => {
    const near = relative(process.cwd(), tiny);
    for (const model of [tiny, `./${near}`, `${near}/`, pathToFileURL(tiny), pathToFileURL(tiny).href]) {
      expect(await vectorsOf(model)).toEqual(expected);
    }
  });

  it('may hold small files of several reads', async () => {
    const place = mkdtempSync(join(tmpdir(), 'wattn-long-'));
    for (const [name, bytes] of tinyFiles()) {
      mkdirSync(dirname(join(place, name)), { recursive: true });
      const spaces = Buffer.alloc(name === 'tokenizer.json' ? 1_500_000 : 0, ' ');
      writeFileSync(join(place, name), Buffer.concat([spaces, bytes, spaces, spaces]));
    }
    expect(await vectorsOf(place)).toEqual(expected);
    const tokenizer = await AutoTokenizer.from_pretrained(place);
    expect(tokenizer.encode('the boat')).toEqual((await AutoTokenizer.from_pretrained(tiny)).encode('the boat'));
    expect(tokenizer.encode('the boat').length).toBeGreaterThan(2);
    rmSync(place, { recursive: true });
  });

  it('names the file and where it was looked for', async () => {
    const place = mkdtempSync(join(tmpdir(), 'wattn-path-'));
    copyFileSync(join(tiny, 'config.json'), join(place, 'config.json'));
    await expectError(
      load(place),
      'ModelFormatError',
      new RegExp(`(tokenizer\\.json|model\\.safetensors): expected this file.*${place}`),
    );
    await expectError(load(join(place, 'nowhere')), 'InputError', /expected a directory at .*nowhere, found nothing/);
    await expectError(load(join(place, 'config.json')), 'InputError', /found a file/);
    mkdirSync(join(place, 'tokenizer.json'));
    await expectError(AutoTokenizer.from_pretrained(place), 'InputError', /expected a file, found a directory/);
    rmSync(place, { recursive: true });
  });
});

(process.platform === 'win32' ? describe.skip : describe)('a path to what is no file', () => {
  it('is named as what it is, and not read', async () => {
    const place = mkdtempSync(join(tmpdir(), 'wattn-device-'));
    symlinkSync('/dev/zero', join(place, 'tokenizer.json'));
    symlinkSync('/dev/zero', join(place, 'model.gguf'));
    spawnSync('mkfifo', [join(place, 'pipe')]);
    await expectError(AutoTokenizer.from_pretrained(place), 'InputError', /tokenizer\.json: expected a file, found a device at /);
    await expectError(load(join(place, 'model.gguf')), 'InputError', /model\.gguf: expected a file, found a device at /);
    await expectError(load(join(place, 'pipe')), 'InputError', /expected a directory at .*pipe, found a pipe/);
    await expectError(load('/dev/zero'), 'InputError', /expected a directory at \/dev\/zero, found a device/);
    rmSync(place, { recursive: true });
  });
});

describe('what a model argument is', () => {
  it('is decided by its form', async () => {
    await expectError(load('model.gguf'), 'InputError', /expected a path \('\.\/model\.gguf'\)/);
    await expectError(load('./model.gguf'), 'ModelFormatError', /model\.gguf/);
    for (const text of ['', 'a b', '~/model', 'a..b', 'blob:x', 'org/a?b'])
      await expectError(load(text), 'InputError', /model: expected a Hub id/);
    await expectError(load(3 as any), 'InputError', /found 3/);
    await expectError(load(new Uint8Array(3) as any), 'InputError', /found an object \(Uint8Array\)/);
    await expectError(load(new URL('data:text/plain,hi')), 'InputError', /found a data: URL/);
    await expectError(load('http://[nonsense'), 'InputError', /is not a valid URL/);
    env.remoteHost = 'nonsense';
    await expectError(load('org/tiny'), 'InputError', /env\.remoteHost: expected a URL, found 'nonsense'/);
  });
});

describe('weights', () => {
  const { half_precision_weights } = readJson('bert-tiny/embeddings.json');
  const inF32 = readJson('bert-tiny/embeddings.json').torch_f32_to_exact;

  for (const kind of ['f16', 'bf16']) {
    it(`may be ${kind}`, async () => {
      const embed = await load(tinyFiles({}, `model-${kind}`));
      expectNear((await embed(half_precision_weights.texts)).data, half_precision_weights[kind].flat(), inF32);
      await embed.dispose();
    });
  }

  it('may lie in shards, with the bits of the single file', async () => {
    const single = await vectorsOf(tinyFiles({}, 'model-f16'));
    const files = tinyFiles({ 'model.safetensors': null }, 'model-sharded');
    files.delete('model.safetensors');
    expect(await vectorsOf(files)).toEqual(single);
    const hub = await hubOf(files);
    const events: ProgressInfo[] = [];
    expect(await vectorsOf('org/tiny', { progress_callback: (info) => events.push(info) })).toEqual(single);
    expect(hub.requests.filter((request) => /^HEAD .*-of-00003/.test(request)).length).toBe(3);
    expectHonest(
      events,
      [...files.values()].reduce((sum, bytes) => sum + bytes.length, 0) - (files.get('2_Normalize/config.json')?.length ?? 0),
    );
    files.delete('model-00002-of-00003.safetensors');
    await expectError(
      load('org/tiny'),
      'ModelFormatError',
      /model-00002-of-00003\.safetensors: expected this file .*looked in http/,
    );
  });

  it('are those of the single file when there are both, as in Python', async () => {
    const both = tinyFiles({}, 'model-sharded');
    expect(await vectorsOf(both)).toEqual(expected);
  });

  it('and settings may be as repositories had them before 2026', async () => {
    expect(await vectorsOf(tinyFiles({}, 'legacy'))).toEqual(expected);
  });
});

function expectHonest(events: readonly ProgressInfo[], total: number): void {
  const steps = events.filter((event) => event.status === 'progress');
  expect(steps.length).toBeGreaterThan(0);
  steps.forEach((step, i) => {
    expect(step.total).toBe(total);
    expect(step.loaded).toBeGreaterThan(i === 0 ? 0 : (steps[i - 1]?.loaded as number));
    expect(step.progress).toBeCloseTo((100 * step.loaded) / total, 9);
  });
  expect(steps.at(-1)?.loaded).toBe(total);
  expect(events.at(-1)?.status).toBe('ready');
  const names = (status: string) => events.flatMap((event) => (event.status === status ? [(event as any).file] : [])).sort();
  expect(names('done')).toEqual(names('initiate'));
}

describe('progress_callback', () => {
  const totalOf = (files: Files) =>
    [...files].reduce((sum, [name, bytes]) => sum + (name === '2_Normalize/config.json' ? 0 : bytes.length), 0);

  it('tells one total over all files, known from the first event on, that loaded reaches and never falls', async () => {
    const files = tinyFiles();
    const slices = (_: any, response: any, bytes: Uint8Array) => {
      response.writeHead(200, { 'content-length': bytes.length });
      const step = (at: number) => {
        if (at >= bytes.length) return response.end();
        response.write(bytes.subarray(at, at + 10_000), () => setImmediate(step, at + 10_000));
      };
      step(0);
    };
    await hubOf(files, { 'model.safetensors': slices });
    const events: ProgressInfo[] = [];
    await vectorsOf('org/tiny', { progress_callback: (info) => events.push(info) });
    expectHonest(events, totalOf(files));
    expect(events.filter((event) => event.status === 'progress').length).toBeGreaterThan(3);
    expect(events.every((event) => event.name === 'org/tiny')).toBe(true);
    expect(events.find((event) => event.status === 'progress')).toMatchObject({ phase: 'download', file: 'model.safetensors' });
  });

  it('is the same for paths, bytes, and transfers of unknown length', async () => {
    const files = tinyFiles();
    const chunked = (_: any, response: any, bytes: Uint8Array) => response.writeHead(200).end(bytes);
    const zipped = (_: any, response: any, bytes: Uint8Array) => {
      const body = gzipSync(bytes);
      response
        .writeHead(200, { 'content-encoding': 'gzip', 'content-length': body.length, 'content-type': 'application/octet-stream' })
        .end(body);
    };
    const inPieces = (_: any, response: any, bytes: Uint8Array) => {
      response.writeHead(200);
      response.write(bytes.subarray(0, 1000));
      setImmediate(() => response.end(bytes.subarray(1000)));
    };
    await hubOf(files, { 'model.safetensors': inPieces, 'config.json': zipped, 'tokenizer.json': chunked });
    for (const model of [tiny, files, 'org/tiny'] as const) {
      const events: ProgressInfo[] = [];
      expect(await vectorsOf(model, { progress_callback: (info) => events.push(info) })).toEqual(expected);
      expectHonest(events, totalOf(files));
    }
    await hubOf(files, { 'model.safetensors': zipped });
    expect(await vectorsOf('org/tiny')).toEqual(expected);
  });

  it('ends the loading with what it throws', async () => {
    const work = load(tiny, {
      progress_callback: () => {
        throw new RangeError('no more');
      },
    });
    await expectError(work, 'RangeError', /no more/);
    expect(await vectorsOf(tiny)).toEqual(expected);
  });

  it('ends the loading with what its promise rejects with', async () => {
    for (const worker of [false, true]) {
      const work = load(tiny, { worker, progress_callback: async () => Promise.reject(new RangeError('no more')) });
      await expectError(work, 'RangeError', /no more/);
    }
  });
});

describe('a server', () => {
  const html = (status: number, type: string) => (_: any, response: any) =>
    response.writeHead(status, { 'content-type': type }).end('<!DOCTYPE html><html><body>Sign in</body></html>');

  const cases: [string, string, any, string, RegExp][] = [
    ['answers 401', 'config.json', html(401, 'text/html'), 'NetworkError', /config\.json: status 401 from http.*\/config\.json/],
    ['answers 500 for an optional file', 'modules.json', html(500, 'text/html'), 'NetworkError', /modules\.json: status 500/],
    [
      'answers HTML for config.json',
      'config.json',
      html(200, 'text/html; charset=utf-8'),
      'ModelFormatError',
      /config\.json: expected this file from http/,
    ],
    [
      'answers HTML for an optional file',
      'modules.json',
      html(200, 'text/html'),
      'ModelFormatError',
      /modules\.json: expected this file from .*, found HTML/,
    ],
    [
      'answers HTML as JSON',
      'tokenizer.json',
      html(200, 'application/json'),
      'ModelFormatError',
      /tokenizer\.json: expected this file from .*, found HTML/,
    ],
    [
      'answers HTML for the weights',
      'model.safetensors',
      html(200, 'text/html'),
      'ModelFormatError',
      /model\.safetensors: expected this file from .*, found HTML/,
    ],
    [
      'answers HTML as weights',
      'model.safetensors',
      html(200, 'application/octet-stream'),
      'ModelFormatError',
      /model\.safetensors: expected this file from .*, found HTML/,
    ],
    [
      'breaks off the weights',
      'model.safetensors',
      (_: any, response: any, bytes: Uint8Array) => {
        response.writeHead(200, { 'content-length': bytes.length });
        response.write(bytes.subarray(0, 70_000), () => response.destroy());
      },
      'NetworkError',
      /model\.safetensors: the connection broke after \d+ of 150824 bytes \(http/,
    ],
    [
      'breaks off a small file',
      'tokenizer.json',
      (_: any, response: any, bytes: Uint8Array) => {
        response.writeHead(200, { 'content-length': bytes.length });
        response.write(bytes.subarray(0, 100), () => response.destroy());
      },
      'NetworkError',
      /tokenizer\.json: the connection broke/,
    ],
    [
      'announces fewer bytes than the weights have',
      'model.safetensors',
      (_: any, response: any, bytes: Uint8Array) =>
        response.writeHead(200, { 'content-length': 100_000, connection: 'close' }).end(bytes.subarray(0, 100_000)),
      'ModelFormatError',
      /model\.safetensors/,
    ],
    [
      'announces more bytes than come',
      'model.safetensors',
      (_: any, response: any, bytes: Uint8Array) => {
        response.writeHead(200, { 'content-length': bytes.length + 10 });
        response.write(bytes, () => response.destroy());
      },
      'ModelFormatError', // before the end: the header does not fit a file of that size
      /model\.safetensors/,
    ],
    [
      'cuts weights of unknown length',
      'model.safetensors',
      (_: any, response: any, bytes: Uint8Array) => response.writeHead(200).end(bytes.subarray(0, 150_000)),
      'ModelFormatError',
      /model\.safetensors/,
    ],
  ];
  for (const [what, file, answer, name, message] of cases) {
    it(`that ${what} is named, and later loads work`, async () => {
      await hubOf(tinyFiles(), { [file]: answer });
      const error = await expectError(load('org/tiny'), name, message);
      if (name === 'NetworkError') expect(error.url).toBe(`${env.remoteHost}/org/tiny/resolve/main/${file}`);
      await hubOf(tinyFiles());
      expect(await vectorsOf('org/tiny')).toEqual(expected);
    });
  }

  it('may close each connection, and be slow with one file', async () => {
    let [closed, late] = [0, 0];
    const closing = (_: any, response: any, bytes: Uint8Array) => {
      response.writeHead(200, { 'content-length': bytes.length, connection: 'close' }).end(bytes);
      response.on('close', () => ++closed);
    };
    // Long after the connection that brought the weights was closed.
    const slow = async (_: any, response: any, bytes: Uint8Array) => {
      await until(() => closed > late);
      await turn();
      late += 1;
      response.writeHead(200, { 'content-length': bytes.length, connection: 'close' }).end(bytes);
    };
    const f16 = tinyFiles({}, 'model-f16'); // of a size at which Node's own fetch can end the process
    const alone = await vectorsOf(f16);
    await hubOf(f16, { 'tokenizer.json': slow, 'model.safetensors': closing });
    for (let i = 0; i < 5; ++i) expect(await vectorsOf('org/tiny')).toEqual(alone);
  });

  it('that is not there is named', async () => {
    const hub = await hubOf(tinyFiles());
    await hub.close();
    const error = await expectError(load('org/tiny'), 'NetworkError', /: no response from http:\/\/127\.0\.0\.1/);
    expect(error.status).toBeUndefined();
  });

  it('that lacks a file leads to an error with its URL', async () => {
    await hubOf(new Map());
    const error = await expectError(
      load('org/tiny'),
      'ModelFormatError',
      /expected this file .*in the model 'org\/tiny', found none; looked in http/,
    );
    expect(error.message).toContain(`${env.remoteHost}/org/tiny/resolve/main/`);
  });
});

describe('signal', () => {
  it('ends a loading whose server never does, wherever it is, and later loads work', async () => {
    for (const slow of ['config.json', 'model.safetensors']) {
      let closed: Promise<unknown> | undefined;
      let answered = false;
      const stall = (request: any, response: any, bytes: Uint8Array) => {
        response.writeHead(200, { 'content-length': bytes.length });
        response.write(bytes.subarray(0, 100));
        closed = new Promise((resolve) => request.socket.once('close', resolve)); // also after a reset
      };
      await hubOf(tinyFiles(), { [slow]: stall });
      env.fetch = async (...args) => {
        const response = await fetch(...(args as Parameters<typeof fetch>));
        answered ||= String(args[0]).endsWith(slow);
        return response;
      };
      const controller = new AbortController();
      const work = load('org/tiny', { signal: controller.signal });
      await until(() => answered);
      controller.abort(new Error('changed my mind'));
      const error = await expectError(work, 'AbortError', /changed my mind/);
      env.fetch = undefined;
      expect(error.cause.message).toBe('changed my mind');
      await closed;
      await hubOf(tinyFiles());
      expect(await vectorsOf('org/tiny', { signal: new AbortController().signal })).toEqual(expected);
    }
  });

  it('that fired before asks for nothing', async () => {
    const hub = await hubOf(tinyFiles());
    await expectError(load('org/tiny', { signal: AbortSignal.abort() }), 'AbortError', /aborted/);
    await expectError(AutoTokenizer.from_pretrained('org/tiny', { signal: AbortSignal.abort('why') }), 'AbortError');
    expect(hub.requests).toEqual([]);
  });

  it('that fires after loading changes nothing', async () => {
    const controller = new AbortController();
    const embed = await load(tiny, { signal: controller.signal });
    controller.abort();
    expect((await embed('the')).dims).toEqual([1, 32]);
    await embed.dispose();
  });

  it('stops reading from memory and from disk', async () => {
    for (const model of [tiny, tinyFiles()]) {
      const controller = new AbortController();
      const work = load(model, { signal: controller.signal, progress_callback: () => controller.abort() });
      await expectError(work, 'AbortError');
    }
  });
});

describe('many loads on one signal', () => {
  it('listen to it once', async () => {
    const { signal } = new AbortController();
    const works = Array.from({ length: 12 }, () => load(tiny, { signal }));
    expect(getEventListeners(signal, 'abort').length).toBe(1);
    for (const embed of await Promise.all(works)) await embed.dispose();
    expect(getEventListeners(signal, 'abort').length).toBe(0);
  });
});

describe('two loads at once', () => {
  it('do not disturb each other', async () => {
    const place = mkdtempSync(join(tmpdir(), 'wattn-two-'));
    for (const [name, bytes] of tinyFiles({}, 'model-f16')) {
      mkdirSync(dirname(join(place, name)), { recursive: true });
      writeFileSync(join(place, name), bytes);
    }
    const [a, b, c] = await Promise.all([vectorsOf(tiny), vectorsOf(place), vectorsOf(tiny)]);
    expect(a).toEqual(expected);
    expect(c).toEqual(expected);
    expect(b).not.toEqual(expected);
    rmSync(place, { recursive: true });
  });
});
