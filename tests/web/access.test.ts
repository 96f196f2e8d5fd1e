// Private and gated repositories: which hosts get the token, and the errors when it is missing. Repositories with only ONNX.
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { AutoConfig, AutoTokenizer, cache, describeModel, env, packModel, pipeline, type LoadOptions, type ModelSpecifier, type ProgressInfo } from 'wattn'; // prettier-ignore
import { reasonOf } from '../../demo/src/model/reason.js';
import { cli } from './cli_support.js';
import { edited, expectError, failure, root, tiny, tinyFiles, type Files } from './support.js';

const kToken = 'hf_AbCdEfGhSecret';
const kRight = `Bearer ${kToken}`;

type Answer = (request: IncomingMessage, response: ServerResponse, file: string) => boolean;

/** A server of repositories, by their hub ids. answer: true if it has answered. */
class Host {
  requests: { url: string; authorization: string | undefined }[] = [];
  answer: Answer = () => false;
  private server!: Server;

  constructor(readonly repositories: Record<string, Files>) {}

  async start(): Promise<this> {
    this.server = createServer((request, response) => {
      const { url = '' } = request;
      this.requests.push({ url, authorization: request.headers.authorization });
      const [, id = '', name = ''] = /^\/([\w-]+\/[\w-]+)\/resolve\/[\w-]+\/([^?]*)/.exec(url) ?? [];
      if (this.answer(request, response, name)) return;
      const bytes = this.repositories[id]?.get(name);
      if (!bytes) return void response.writeHead(404).end('none');
      response.writeHead(200, { 'content-length': bytes.length, etag: '"one"' });
      response.end(request.method === 'HEAD' ? undefined : bytes);
    });
    await new Promise<void>((resolve) => this.server.listen(0, '127.0.0.1', resolve));
    return this;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  stop(): Promise<void> {
    this.server.closeAllConnections();
    return new Promise((resolve) => this.server.close(() => resolve()));
  }
}

const load = (model: ModelSpecifier, options: LoadOptions = {}) => pipeline('feature-extraction', model, options);
const texts = ['the', 'A small boat waits below the old bridge.'];
async function vectorsOf(model: ModelSpecifier, options: LoadOptions = {}): Promise<Float32Array> {
  const embed = await load(model, options);
  const { data } = await embed(texts);
  await embed.dispose();
  return data;
}

const before = { ...env };
const { HF_TOKEN, HF_ENDPOINT } = process.env;
let expected: Float32Array;
let hub: Host;
let other: Host;

function restore(name: string, value: string | undefined): void {
  if (value === undefined) delete process.env[name];
  else process.env[name] = value;
}

beforeAll(async () => {
  expected = await vectorsOf(tiny);
});
beforeEach(async () => {
  delete process.env['HF_TOKEN'];
  delete process.env['HF_ENDPOINT'];
  [hub, other] = await Promise.all([new Host({ 'org/tiny': tinyFiles() }).start(), new Host({ 'org/tiny': tinyFiles() }).start()]);
  env.remoteHost = hub.url;
});
afterEach(async () => {
  Object.assign(env, before);
  restore('HF_TOKEN', HF_TOKEN);
  restore('HF_ENDPOINT', HF_ENDPOINT);
  await Promise.all([hub.stop(), other.stop()]);
});

/** Refuses requests without the token, as hubs do. */
const locked =
  (status = 401, headers: Record<string, string> = {}): Answer =>
  (request, response) => {
    if (request.headers.authorization === kRight) return false;
    response.writeHead(status, headers).end('no');
    return true;
  };

const tokens = (host: Host) => [...new Set(host.requests.map(({ authorization }) => authorization))];

describe('a token', () => {
  it('opens a private repository, with every request, in workers too', async () => {
    hub.answer = locked();
    expect(await vectorsOf('org/tiny', { token: kToken })).toEqual(expected);
    expect(await vectorsOf('org/tiny', { token: kToken, worker: true })).toEqual(expected);
    expect((await describeModel('org/tiny', { token: kToken })).model_type).toBe('bert');
    expect((await AutoTokenizer.from_pretrained('org/tiny', { token: kToken })).encode('the').length).toBe(3);
    expect((await packModel('org/tiny', { token: kToken })).length).toBeGreaterThan(1000);
    expect(tokens(hub)).toEqual([kRight]);
  });

  it('is not passed on by a redirect to another host, whatever fetch does', async () => {
    const away: Answer = (request, response, name) => {
      if (!name.endsWith('.safetensors') && !name.endsWith('tokenizer.json')) return false;
      response.writeHead(name.endsWith('.json') ? 307 : 302, { location: `${other.url}${request.url}` }).end();
      return true;
    };
    // A fetch that follows redirects with all headers.
    const passing = async (url: string, init: any): Promise<Response> => {
      const response = await fetch(url, { ...init, redirect: 'manual' });
      const location = response.headers.get('location');
      return location && init.redirect !== 'manual' ? passing(new URL(location, url).href, init) : response;
    };
    for (const own of [undefined, passing]) {
      env.fetch = own;
      hub.answer = (...args) => locked()(...args) || away(...args);
      expect(await vectorsOf('org/tiny', { token: kToken })).toEqual(expected);
      expect(tokens(hub)).toEqual([kRight]);
      expect(other.requests.length).toBeGreaterThan(1);
      expect(tokens(other)).toEqual([undefined]);
    }
  });

  it('is left to the browser where redirects are hidden, which is asked once', async () => {
    hub.answer = (request, response, name) => {
      if (name !== 'config.json') return false;
      response.writeHead(302, { location: `${other.url}${request.url}` }).end();
      return true;
    };
    const hidden = { type: 'opaqueredirect', status: 0, headers: new Headers(), body: null };
    const kinds: string[] = [];
    env.fetch = async (url, init) => {
      kinds.push(init.redirect ?? 'follow');
      const response = await fetch(url, init);
      return response.status === 302 ? hidden : response;
    };
    for (let i = 0; i < 2; ++i) expect((await AutoConfig.from_pretrained('org/tiny', { token: kToken })).model_type).toBe('bert');
    expect(kinds).toEqual(['manual', 'follow', 'follow']);
    expect(tokens(hub)).toEqual([kRight]);
    expect(tokens(other)).toEqual([undefined]);
  });

  it('is not sent again after a way over another host', async () => {
    hub.answer = (request, response, name) => {
      if (name !== 'config.json' || request.url?.includes('?')) return false;
      response.writeHead(302, { location: `${other.url}${request.url}` }).end();
      return true;
    };
    other.answer = (request, response) => {
      response.writeHead(302, { location: `${hub.url}${request.url}?back` }).end();
      return true;
    };
    expect((await AutoConfig.from_pretrained('org/tiny', { token: kToken })).model_type).toBe('bert');
    expect(hub.requests.map(({ authorization }) => authorization)).toEqual([kRight, undefined]);
    expect(tokens(other)).toEqual([undefined]);
  });

  it('follows redirects of the same host, relative ones too, but not for ever', async () => {
    hub.answer = (request, response, name) => {
      if (name !== 'config.json' || request.url?.includes('?')) return locked()(request, response, name);
      response.writeHead(308, { location: './config.json?moved' }).end();
      return true;
    };
    expect(await vectorsOf('org/tiny', { token: kToken })).toEqual(expected);
    expect(tokens(hub)).toEqual([kRight]);
    hub.answer = (request, response) => {
      response.writeHead(302, { location: request.url as string }).end();
      return true;
    };
    const error = await expectError(describeModel('org/tiny', { token: kToken }), 'NetworkError', /more than 20 redirects/);
    expect(error.message).not.toContain(kToken);
  });

  it('goes to the host of the hub only, also for URLs', async () => {
    expect(await vectorsOf(`${other.url}/org/tiny/resolve/main/`, { token: kToken })).toEqual(expected);
    expect(tokens(other)).toEqual([undefined]);
    expect(await vectorsOf(`${hub.url}/org/tiny/resolve/main/`, { token: kToken })).toEqual(expected);
    expect(tokens(hub)).toEqual([kRight]);
    expect(await vectorsOf(tiny, { token: kToken })).toEqual(expected);
    env.remoteHost = 'nonsense';
    expect(await vectorsOf(`${other.url}/org/tiny/resolve/main/`, { token: kToken })).toEqual(expected);
  });

  it('is neither cached nor part of a message', async () => {
    env.useCache = true;
    const folder = mkdtempSync(join(tmpdir(), 'wattn-token-'));
    hub.answer = locked();
    expect(await vectorsOf('org/tiny', { token: kToken, cache_dir: folder })).toEqual(expected);
    const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
    expect(files.length).toBeGreaterThan(5);
    for (const entry of files) {
      expect(readFileSync(join(entry.parentPath ?? entry.path, entry.name)).includes(kToken)).toBe(false);
      expect(entry.name).not.toContain(kToken);
    }
    // The cache is the user's, like that of huggingface_hub: what was downloaded needs no token any more.
    expect(await vectorsOf('org/tiny', { cache_dir: folder })).toEqual(expected);
    await cache.delete('org/tiny', { cache_dir: folder });
    await expectError(load('org/tiny', { cache_dir: folder }), 'NetworkError', /status 401/);
    rmSync(folder, { recursive: true });
    for (const token of [`${kToken}\n`, `${kToken} x`, `${kToken}é`]) {
      const error = await expectError(
        load('org/tiny', { token }),
        'InputError',
        /option 'token' \(or HF_TOKEN\): expected printable ASCII without spaces/,
      );
      expect(error.message).not.toContain('Secret');
    }
    await hub.stop();
    const error = await expectError(load('org/tiny', { token: kToken }), 'NetworkError', /no response/);
    expect(`${error.stack} ${JSON.stringify(error)} ${String(error.cause?.stack)}`).not.toContain('Secret');
    hub = await new Host({}).start();
  });

  it('comes from HF_TOKEN, for the hub that HF_ENDPOINT names', async () => {
    hub.answer = locked();
    process.env['HF_TOKEN'] = `${kToken}\n`;
    await expectError(load('org/tiny'), 'NetworkError', /status 401/); // env.remoteHost is the program's choice, not the user's
    expect(tokens(hub)).toEqual([undefined]);
    process.env['HF_ENDPOINT'] = hub.url;
    expect(await vectorsOf('org/tiny')).toEqual(expected);
    await expectError(load('org/tiny', { token: '' }), 'NetworkError', /status 401/);
    process.env['HF_TOKEN'] = 'a b';
    await expectError(load('org/tiny'), 'InputError', /\(or HF_TOKEN\): expected printable ASCII/);
    expect(await vectorsOf(tiny)).toEqual(expected);
  });

  it('and the host come from the environment of the command', async () => {
    hub.answer = locked();
    const folder = mkdtempSync(join(tmpdir(), 'wattn-cli-'));
    const run = async (more: Record<string, string>) => {
      const args = [cli, 'embed', '--model', 'org/tiny', '--cache-dir', folder, 'the'];
      const child = spawn(process.execPath, args, { cwd: root, env: { ...process.env, HF_ENDPOINT: hub.url, ...more } });
      let said = '';
      child.stdout.on('data', (text) => (said += text));
      child.stderr.on('data', (text) => (said += text));
      const [code] = await once(child, 'close');
      return { code, said };
    };
    const without = await run({});
    expect(without.said).toMatch(/wattn: .*: status 401 from .* pass a token with the option 'token' or, in Node, HF_TOKEN/);
    expect(without.code).toBe(2);
    expect(await run({ HF_TOKEN: kToken })).toMatchObject({ code: 0, said: expect.stringMatching(/"embedding"/) });
    rmSync(folder, { recursive: true });
  });
});

describe('a hub that refuses', () => {
  it('is answered with what to do', async () => {
    const page = `${hub.url}/org/tiny`;
    const gated = { 'x-error-code': 'GatedRepo' };
    const said = async (status: number, headers: Record<string, string>, token: string) => {
      hub.answer = locked(status, headers);
      const error = await expectError(describeModel('org/tiny', { token }), 'NetworkError');
      expect(error.status).toBe(status);
      return error.message.replace(/^.*? \(/, '(');
    };
    const missing =
      "(private, gated and missing repositories get this response: check the name, or pass a token with the option 'token' or, in Node, HF_TOKEN)";
    const terms = `(the repository is gated: accept its terms at ${page}, and pass a token with the option 'token' or, in Node, HF_TOKEN)`;
    const access = `(the token has no access: accept the terms at ${page}, or use a token that may read this repository)`;
    expect(await said(401, {}, '')).toBe(missing);
    expect(await said(401, gated, '')).toBe(terms);
    expect(await said(403, gated, '')).toBe(terms);
    expect(await said(401, {}, 'wrong')).toBe(
      `(the token was not accepted: it may have expired, or the repository is missing; see ${page})`,
    );
    expect(await said(401, gated, 'wrong')).toBe(access);
    expect(await said(403, gated, 'wrong')).toBe(access);
    expect(await said(403, {}, 'wrong')).toBe(access);
    other.answer = locked(403);
    await expectError(load(`${other.url}/org/tiny`), 'NetworkError', /status 403 from .* \(the server forbids it\)$/);
  });
});

it("the demo page says a hub's errors in plain words", async () => {
  const reason = async (id: string, online = true) => reasonOf(await failure(load(id)), online);
  hub.answer = locked(401);
  expect(await reason('org/tiny')).toMatch(/^There is no such model, or it is not public/);
  hub.answer = locked(403, { 'x-error-code': 'GatedRepo' });
  expect(await reason('org/tiny')).toMatch(/^This model is gated/);
  hub.answer = () => false;
  expect(await reason('org/nothing')).toMatch(/^There is no such model\. Check/);
  env.remoteHost = 'http://127.0.0.1:1/';
  expect(await reason('org/tiny')).toBe('This model could not be downloaded.');
  expect(await reason('org/tiny', false)).toMatch(/^You are offline/);
});

describe('a folder that is written as a hub id', () => {
  it('is named in the error', async () => {
    const folder = mkdtempSync(join(root, 'build/wattn-folder-'));
    const id = folder.slice(root.length);
    expect(id).toMatch(/^build\/[\w-]+$/);
    for (const work of [() => load(id), () => AutoTokenizer.from_pretrained(id), () => load(id, { local_files_only: true })]) {
      const { message } = await failure(work);
      expect(message).toContain(`; there is a folder of this name, too: write './${id}' to load it`);
    }
    hub.answer = locked(401);
    await expectError(load(id), 'NetworkError', /status 401 .*; there is a folder of this name, too/);
    const { message } = await failure(load('org/none'));
    expect(message).not.toMatch(/folder/);
    rmSync(folder, { recursive: true });
  });
});

describe('a repository that holds only ONNX', () => {
  const onnx = (over: Record<string, string | null> = {}) =>
    tinyFiles({
      'model.safetensors': null,
      'modules.json': null,
      '1_Pooling/config.json': null,
      'onnx/model.onnx': 'onnx',
      ...over,
    });
  const head = (text: string) => ({
    'README.md': `---\nlibrary_name: transformers.js\n${text}\n---\n\n# Title\nbase_model: x/y\n`,
  });
  const found =
    "model.safetensors: expected weights in the model 'Xenova/tiny', found only ONNX (onnx/model.onnx), which wattn does not read";

  const said = async (files: Files) => {
    hub.repositories['Xenova/tiny'] = files;
    return (await failure(load('Xenova/tiny'))).message as string;
  };

  it('is answered with its original and the line to write', async () => {
    env.resolveOriginal = false;
    const line = (where: string) => `${found}; load its original (${where}): pipeline(.., 'org/tiny')`;
    for (const text of [
      'base_model: org/tiny',
      'base_model: "org/tiny"\r',
      'base_model:\n- org/tiny',
      "base_model: ['org/tiny']",
      'base_model:\n  - org/tiny\ntags:\n- a/b',
    ]) {
      expect(await said(onnx(head(text)))).toBe(line('base_model in README.md'));
    }
    const named = { 'config.json': edited('config.json', { _name_or_path: 'org/tiny' }) };
    const config = line('_name_or_path in config.json');
    for (const readme of [
      {},
      head(''),
      head('base_model:\n- a/b\n- c/d'),
      head('base_model: Xenova/tiny'),
      { 'README.md': '<!doctype html>' },
    ]) {
      expect(await said(onnx({ ...named, ...readme }))).toBe(config);
    }
    const unnamed = `${found}; load the repository that it was made from, which it does not name`;
    for (const path of ['', '/tmp/model', './x/y', 'local', 3]) {
      expect(await said(onnx({ 'config.json': edited('config.json', { _name_or_path: path }) }))).toBe(unnamed);
    }
    await expectError(packModel('Xenova/tiny'), 'ModelFormatError', /found only ONNX/);
    env.resolveOriginal = true; // neither a name in config.json nor a card of what is no repository is followed
    expect(await said(onnx(named))).toBe(config);
    await expectError(
      load(onnx(head('base_model: org/tiny'))),
      'ModelFormatError',
      /found only ONNX .*pipeline\(\.\., 'org\/tiny'\)/,
    );
    expect(await said(onnx({ 'onnx/model.onnx': null }))).toMatch(
      /expected this file \(or model\.safetensors\.index\.json or pytorch_model\.bin/,
    );
  });

  it('is replaced by its original, which is said', async () => {
    hub.repositories['Xenova/tiny'] = onnx(head('base_model: org/tiny'));
    const { warn } = console;
    const warnings: string[] = [];
    console.warn = (text) => void warnings.push(text);
    for (const worker of [false, true]) {
      const events: ProgressInfo[] = [];
      const options = { worker, revision: 'main', progress_callback: (info: ProgressInfo) => events.push(info) };
      expect(await vectorsOf('Xenova/tiny', options)).toEqual(expected);
      expect(events.filter(({ status }) => status === 'original')).toEqual([
        { status: 'original', name: 'Xenova/tiny', original: 'org/tiny' },
      ]);
      expect(events.at(-1)).toMatchObject({ status: 'ready', name: 'org/tiny', model: 'org/tiny' });
    }
    const embed = await load('Xenova/tiny');
    expect([embed.info().original, (await load('org/tiny')).info().original]).toEqual(['org/tiny', undefined]);
    console.warn = warn;
    expect(warnings).toEqual([
      "wattn: 'Xenova/tiny' has only ONNX files: its original 'org/tiny' is loaded (env.resolveOriginal = false throws instead)",
    ]);
    expect(Buffer.from(await packModel('Xenova/tiny')).equals(Buffer.from(await packModel(tiny)))).toBe(true);
    await expectError(
      load('Xenova/tiny', { revision: 'v1' }),
      'ModelFormatError',
      /pipeline\(\.\., 'org\/tiny'\)\. It is not loaded automatically, because the option 'revision' \('v1'\) names one of 'Xenova\/tiny'/,
    );
    // What a card names may be the model that this one was trained from.
    for (const [name, value] of [
      ['architectures', ['BertForTokenClassification']],
      ['vocab_size', 7],
      ['hidden_size', 5],
    ] as const) {
      hub.repositories['Xenova/tiny'] = onnx({
        ...head('base_model: org/tiny'),
        'config.json': edited('config.json', { [name]: value }),
      });
      await expectError(load('Xenova/tiny'), 'ModelFormatError', new RegExp(`because config.json differs in '${name}'`));
    }
    // Once only: an original that is no better is an error.
    hub.repositories['Xenova/tiny'] = onnx(head('base_model: Xenova/other'));
    hub.repositories['Xenova/other'] = onnx(head('base_model: Xenova/tiny'));
    await expectError(load('Xenova/tiny'), 'ModelFormatError', /'Xenova\/other', found only ONNX/);
  });
});
