// The environment variables of huggingface_hub: offline mode, and files that Python has downloaded.
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { root } from './support.js';

const kCommit = 'a'.repeat(40);
const kModel = join(root, 'tests/goldens/bert-tiny/model');
let home: string;

beforeAll(() => {
  home = mkdtempSync(join(tmpdir(), 'wattn-hf-'));
  const repository = join(home, 'hub/models--org--tiny');
  cpSync(kModel, join(repository, 'snapshots', kCommit), { recursive: true });
  mkdirSync(join(repository, 'refs'));
  writeFileSync(join(repository, 'refs/main'), kCommit);
});
afterAll(() => rmSync(home, { recursive: true }));

/** What a program in this environment prints: a model is loaded from a hub that has this commit, and each request is printed. commit: '' for no network. */
function load(variables: Record<string, string>, { commit = '', options = {}, before = '' } = {}): string {
  const { PATH } = process.env;
  const text = `
    import { env, pipeline } from ${JSON.stringify(pathToFileURL(join(root, 'dist/node.js')).href)};
    env.fetch = async (url, { method, headers }) => {
      console.log(method, new URL(url).pathname.slice(1), headers.authorization ?? '');
      if (!${JSON.stringify(commit)}) throw new TypeError('fetch failed', { cause: Object.assign(new Error('no route'), { code: 'ENOTFOUND' }) });
      return new Response(method === 'HEAD' ? '{}' : '', { status: method === 'HEAD' ? 200 : 404, headers: { 'x-repo-commit': ${JSON.stringify(commit)} } });
    };
    ${before}
    try {
      const embed = await pipeline('feature-extraction', 'org/tiny', { threads: 1, ...${JSON.stringify(options)} });
      console.log((await embed('one text')).dims.join());
    } catch (error) {
      console.log(error.name, error.message);
    }`;
  const { stdout, stderr } = spawnSync(process.execPath, ['--input-type=module', '-e', text], {
    encoding: 'utf8',
    env: { PATH, HOME: home, XDG_CACHE_HOME: mkdtempSync(join(home, 'own-')), ...variables } as NodeJS.ProcessEnv,
  });
  return stdout + stderr;
}

describe('the cache of huggingface_hub', () => {
  const offline = { HF_HUB_OFFLINE: '1' };
  it.each([
    ['HF_HOME', (): Record<string, string> => ({ HF_HOME: home })],
    ['HF_HUB_CACHE', (): Record<string, string> => ({ HF_HUB_CACHE: join(home, 'hub') })],
    ['HF_HUB_CACHE with ~', (): Record<string, string> => ({ HF_HUB_CACHE: '~/hub' })],
    ['HF_HOME with a variable', (): Record<string, string> => ({ HF_HOME: '$HOME' })],
    ['XDG_CACHE_HOME', (): Record<string, string> => ({ XDG_CACHE_HOME: join(home, 'xdg') })],
  ])('is read where %s says', (name, variables) => {
    if (name === 'XDG_CACHE_HOME') cpSync(join(home, 'hub'), join(home, 'xdg/huggingface/hub'), { recursive: true });
    expect(load({ ...variables(), ...offline })).toBe('1,32\n');
  });

  it('is used if the hub has the same commit, after one request', () => {
    expect(load({ HF_HOME: home }, { commit: kCommit }).split('\n')[0]).toBe('HEAD org/tiny/resolve/main/config.json ');
    expect(load({ HF_HOME: home }, { commit: kCommit })).toMatch(/\n1,32\n$/);
  });

  it('is not used if the hub has another', () => {
    expect(load({ HF_HOME: home }, { commit: 'b'.repeat(40) })).toMatch(
      /GET org\/tiny\/resolve\/main\/config.json.*\n[^]*ModelFormatError/,
    );
  });

  it('is used without a request if the revision is the commit', () => {
    expect(load({ HF_HOME: home }, { commit: kCommit, options: { revision: kCommit } })).not.toMatch(
      /HEAD|GET \S*(config.json|safetensors)/,
    );
  });

  it('is used without a network', () => expect(load({ HF_HOME: home })).toMatch(/1,32\n$/));

  it('is not used for a hub that the program names', () => {
    expect(load({ HF_HOME: home, ...offline }, { before: "env.remoteHost = 'https://mirror.example';" })).toMatch(/InputError/);
  });
});

describe('the variables of huggingface_hub', () => {
  it.each(['1', 'YES'])('HF_HUB_OFFLINE=%s forbids the network', (value) => {
    expect(load({ HF_HUB_OFFLINE: value })).toMatch(/^InputError .*HF_HUB_OFFLINE/);
    expect(load({ TRANSFORMERS_OFFLINE: value })).toMatch(/^InputError/);
  });

  it.each(['0'])('HF_HUB_OFFLINE=%s does not', (value) => expect(load({ HF_HUB_OFFLINE: value })).toMatch(/^GET/));

  it('can be set aside by the program', () => {
    expect(load({ HF_HUB_OFFLINE: '1' }, { before: 'env.allowRemoteModels = true;' })).toMatch(/^GET/);
  });

  it('HF_TOKEN is sent, unless HF_HUB_DISABLE_IMPLICIT_TOKEN is set', () => {
    expect(load({ HF_TOKEN: 'hf_a' })).toMatch(/^GET \S+ Bearer hf_a\n/);
    expect(load({ HUGGING_FACE_HUB_TOKEN: 'hf_a' })).toMatch(/^GET \S+ Bearer hf_a\n/);
    expect(load({ HF_TOKEN: 'hf_a', HF_HUB_DISABLE_IMPLICIT_TOKEN: '1' })).toMatch(/^GET \S+ \n/);
  });
});

describe('a request that nothing answers', () => {
  it('says the innermost reason', () => expect(load({})).toMatch(/NetworkError .*: fetch failed: no route\n/));

  it('names a proxy that Node does not use', () => {
    expect(load({ HTTPS_PROXY: 'http://127.0.0.1:9' })).toMatch(/no route \(HTTPS_PROXY is set, .*NODE_USE_ENV_PROXY=1/);
    expect(load({ HTTPS_PROXY: 'http://127.0.0.1:9', NODE_USE_ENV_PROXY: '1' })).toMatch(/no route\n/);
  });
});
