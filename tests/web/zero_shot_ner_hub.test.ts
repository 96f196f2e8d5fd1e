// GLiNER models in the layout of their Hub repositories, against the package gliner (tests/goldens/spans_hub): the tokenizer, the encoder's
// configuration or both are in another repository.
import { cpSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { cache, env, packModel, pipeline, type LoadOptions, type ModelSpecifier, type NerEntity, type ProgressInfo } from 'wattn';
import { linesOf, wattn } from './cli_support.js';
import { expectError, failure, filesOf, goldens, readJson, serveHub, type Files, type Hub } from './support.js';

interface Case {
  name: string;
  base: string;
  class_token_index: number;
  rows: number;
  added: Record<string, number>;
  vocab_size: number;
  ids: number[][];
}

const folder = (name: string) => join(goldens, 'spans_hub', name);
const { cases, texts, labels, options } = readJson('spans_hub/cases.json') as {
  cases: Case[];
  texts: string[];
  labels: string[][];
  options: Record<string, unknown>[];
};
const [oldest, token, own] = cases as [Case, Case, Case];
const kRepositories = [...cases.map(({ name }) => name), ...new Set(cases.map(({ base }) => base))];

const utf16 = (text: string, codePoints: number) => [...text].slice(0, codePoints).join('').length;
const places = (entities: NerEntity[]) => entities.map(({ label, start, end }) => ({ label, start, end }));
const load = (model: ModelSpecifier, settings: LoadOptions = {}) => pipeline('zero-shot-ner', model, settings);

/** The entities of the package, and the ids and tokens of its tokenizer. */
async function expectPython(model: ModelSpecifier, of: Case, settings: LoadOptions = {}): Promise<void> {
  const ner = await load(model, settings);
  if (!settings.worker) {
    expect(texts.map((text) => ner.tokenizer.encode(text))).toEqual(of.ids);
    expect(ner.tokenizer.vocab_size).toBe(of.vocab_size);
    for (const [content, id] of Object.entries(of.added)) expect(ner.tokenizer.convert_tokens_to_ids(content)).toBe(id);
  }
  const { f32_diff, calls } = readJson(`spans_hub/${of.name}/expected.json`);
  for (const [t, l, o, expected] of calls) {
    const [text, asked] = [texts[t] as string, labels[l] as string[]];
    const got = await ner(text, asked, options[o]);
    const entities = expected.map(([start, end, label]: number[]) => ({
      label: asked[label as number],
      start: utf16(text, start as number),
      end: utf16(text, end as number),
    }));
    expect(places(got)).toEqual(entities);
    got.forEach(({ score }, i) => expect(Math.abs(score - expected[i][3])).toBeLessThanOrEqual(4 * Math.max(f32_diff, 2 ** -23)));
  }
  await ner.dispose();
}

/** All repositories, as a hub has them; changed: files to replace, or to leave out. */
function repositories(changed: Record<string, Uint8Array | string | null> = {}): Files {
  const files: Files = new Map();
  for (const id of kRepositories) {
    for (const [name, bytes] of filesOf(folder(id))) if (name !== 'expected.json') files.set(`${id}/resolve/main/${name}`, bytes);
  }
  for (const [name, bytes] of Object.entries(changed)) {
    const path = name.replace(/(.*)\//, '$1/resolve/main/');
    if (bytes === null) files.delete(path);
    else files.set(path, typeof bytes === 'string' ? new TextEncoder().encode(bytes) : bytes);
  }
  return files;
}

/** gliner_config.json of a model with other settings. */
const spanConfig = (name: string, changes: object) =>
  JSON.stringify({ ...readJson(`spans_hub/${name}/gliner_config.json`), ...changes });

const before = { ...env };
let hub: Hub | undefined;
let temporary: string;

async function serve(...given: [files: Files, special?: Parameters<typeof serveHub>[2]]): Promise<void> {
  await hub?.close();
  hub = await serveHub(given[0], '/', given[1]);
  env.remoteHost = hub.url;
}

beforeEach(() => {
  temporary = mkdtempSync(join(tmpdir(), 'wattn-spans-'));
  env.useCache = true;
  env.cacheDir = join(temporary, 'cache');
});
afterEach(async () => {
  Object.assign(env, before);
  await hub?.close();
  hub = undefined;
  rmSync(temporary, { recursive: true, force: true });
});

describe('GLiNER’s repositories', () => {
  it.each(cases.map((each) => [each.name, each] as const))(
    'load from a hub with what they name as model_name: %s',
    async (name, of) => {
      await serve(repositories());
      const events: ProgressInfo[] = [];
      await expectPython(name, of, { progress_callback: (info) => events.push(info) });
      expect(events.filter(({ status }) => status === 'base')).toEqual([{ status: 'base', name, base: of.base }]);
      expect(events.at(-1)).toMatchObject({ status: 'ready', name, model: name });
      expect(new Set(events.map((event) => event.name))).toEqual(new Set([name]));
    },
  );

  it.each(cases.map((each) => [each.name, each] as const))('pack with what they take from elsewhere: %s', async (name, of) => {
    await serve(repositories());
    const packed = { 'model.gguf': await packModel(name, { dtype: 'f32' }) };
    await hub?.close();
    hub = undefined;
    await expectPython(packed, of);
  });

  it('load in a worker', async () => {
    await serve(repositories());
    await expectPython(oldest.name, oldest, { worker: true });
  });

  it.each(cases.map((each) => [each.name, each] as const))('load from folders beside each other: %s', async (name, of) => {
    await expectPython(folder(name), of);
    cpSync(folder(name), join(temporary, 'model'), { recursive: true });
    cpSync(folder(of.base), join(temporary, of.base.replace(/.*\//, '')), { recursive: true });
    await expectPython(join(temporary, 'model'), of);
  });

  it('load from URLs of folders beside each other', async () => {
    const server = await serveHub(
      new Map([...repositories()].map(([name, bytes]) => [name.replace('resolve/main/', ''), bytes])),
      '/',
    );
    await expectPython(`${server.url}/${oldest.name}`, oldest);
    await expectPython(new URL(`${server.url}/${token.name}/?key=1`), token);
    expect(server.requests.filter((line) => line.includes(token.name) || line.includes(`${token.base}/`)).length).toBeGreaterThan(
      3,
    );
    expect(server.requests.filter((line) => line.includes(token.base) && !line.endsWith('?key=1'))).toEqual([]);
    await server.close();
  });

  it('load with those files among their own', async () => {
    for (const of of cases) {
      const both = filesOf(folder(of.base));
      for (const [name, bytes] of filesOf(folder(of.name))) both.set(name, bytes);
      await expectPython(both, of);
    }
  });

  it('come from the cache as a whole, and ask for nothing that they do not need', async () => {
    await serve(repositories());
    await (await load(oldest.name)).dispose();
    const asked = hub?.requests.map((line) => line.replace(/.* \/(.*?)\/resolve\/main/, '$1')) ?? [];
    expect(asked.filter((line) => line.startsWith(oldest.base)).sort()).toEqual(
      [
        'config.json',
        'spm.model',
        'tokenizer.json',
        'tokenizer_config.json',
        'special_tokens_map.json',
        'added_tokens.json',
        ...'vocab.json merges.txt source.spm vocab.txt spiece.model'.split(' '),
      ]
        .map((file) => `${oldest.base}/${file}`)
        .sort(),
    );
    expect([...new Set(asked.filter((line) => line.startsWith(oldest.name)))].sort()).toEqual(
      'added_tokens.json config.json gliner_config.json model.safetensors model.safetensors.index.json pytorch_model.bin special_tokens_map.json tokenizer.json tokenizer_config.json'
        .split(' ')
        .map((file) => `${oldest.name}/${file}`),
    );
    const listed = await cache.list(oldest.base);
    expect(listed.map(({ file, complete }) => [file, complete]).sort()).toEqual([
      ['config.json', true],
      ['spm.model', true],
      ['tokenizer_config.json', true],
    ]);
    await hub?.close();
    hub = undefined;
    await expectPython(oldest.name, oldest, { local_files_only: true });
    await cache.delete(oldest.base);
    const gone = await expectError(
      load(oldest.name, { local_files_only: true }),
      'InputError',
      /config.json: this file of 'microsoft\/tiny-deberta' is not in the cache/,
    );
    expect(gone.message).toMatch(/gliner takes that of 'microsoft\/tiny-deberta' \(model_name of gliner_config.json\)/);
  });

  it('ask once more for a file of the other repository that the cache has and the loader refuses', async () => {
    const files = repositories();
    const path = `${oldest.base}/resolve/main/spm.model`;
    const right = files.get(path) as Uint8Array;
    files.set(path, new Uint8Array(9));
    await serve(files);
    await expectError(load(oldest.name), 'ModelFormatError', /SentencePiece/);
    files.set(path, right);
    await expectPython(oldest.name, oldest);
    expect(hub?.requests.filter((line) => line.endsWith(path))).toHaveLength(2);
  });

  it('send the token to the same hub, and use its newest revision', async () => {
    const seen: (string | undefined)[] = [];
    const files = repositories();
    for (const [path, bytes] of [...files]) if (path.startsWith(oldest.name)) files.set(path.replace('/main/', '/v2/'), bytes);
    const special = Object.fromEntries(
      ['config.json', 'spm.model'].map((name) => [
        `${oldest.base}/resolve/main/${name}`,
        (request: any, response: any, bytes: Uint8Array) => {
          seen.push(request.headers.authorization);
          response.writeHead(200, { 'content-length': bytes.length }).end(bytes);
        },
      ]),
    );
    await serve(files, special);
    await expectPython(oldest.name, oldest, { token: 'secret', revision: 'v2' });
    expect(seen).toEqual(['Bearer secret', 'Bearer secret']);
  });

  it('work on the command line', async () => {
    await serve(repositories());
    const place = ['--cache-dir', join(temporary, 'cli')];
    const variables = { HF_ENDPOINT: hub?.url as string };
    const [got] = linesOf(
      await wattn(['download', oldest.name, '--task', 'zero-shot-ner', ...place], undefined, undefined, variables),
    );
    expect(got).toMatchObject({ model: oldest.name, files: 2 });
    await hub?.close();
    hub = undefined;
    const run = ['run', '--task', 'zero-shot-ner', '--model', oldest.name, '--labels', labels[0]?.join(',') as string];
    const [{ result }] = linesOf(
      await wattn([...run, '--local-files-only', ...place, texts[0] as string], undefined, undefined, variables),
    );
    const [[, , , expected]] = readJson(`spans_hub/${oldest.name}/expected.json`).calls;
    expect(result.map(({ start, end }: NerEntity) => [start, end])).toEqual(expected.map(([start, end]: number[]) => [start, end]));
  });
});

describe('GLiNER’s repositories say what is wrong with', () => {
  it('a repository that is not there', async () => {
    const files = repositories();
    for (const path of [...files.keys()]) if (path.startsWith(oldest.base)) files.delete(path);
    await serve(files);
    const { message, name } = await failure(load(oldest.name));
    expect(name).toBe('ModelFormatError');
    expect(message).toBe(
      "config.json: expected the encoder's configuration in the model 'org/tiny-v2.1', found none: gliner takes that of 'microsoft/tiny-deberta' " +
        `(model_name of gliner_config.json); looked for its config.json in ${hub?.url}/microsoft/tiny-deberta/resolve/main/config.json: ` +
        'put its config.json, tokenizer_config.json and tokenizer there, or into the model',
    );
    const alone = filesOf(folder(oldest.name));
    await expectError(
      load(alone),
      'ModelFormatError',
      /found none: gliner takes that of 'microsoft\/tiny-deberta' .*: put its config.json/,
    );
    cpSync(folder(oldest.name), join(temporary, 'a/b/model'), { recursive: true });
    const near = await failure(load(join(temporary, 'a/b/model')));
    for (const place of ['a/b/tiny-deberta', 'a/b/microsoft/tiny-deberta', 'a/microsoft/tiny-deberta'])
      expect(near.message).toContain(join(temporary, place, 'config.json'));
    await expectError(load(folder('microsoft/tiny-deberta')), 'ModelFormatError', /gliner_config.json: expected this file/);
  });

  it('a repository without a tokenizer', async () => {
    await serve(repositories({ [`${oldest.base}/spm.model`]: null }));
    await expectError(
      load(oldest.name),
      'ModelFormatError',
      /tokenizer.json: expected this file \(or .*spm.model.*\) in the model 'microsoft\/tiny-deberta', found none; .*; tokenizer.json: expected a tokenizer in the model 'org\/tiny-v2.1', found none: gliner takes that of 'microsoft/,
    );
  });

  it('a private or gated repository', async () => {
    const refuse = (headers: Record<string, string>) => (_: unknown, response: any) => response.writeHead(401, headers).end('no');
    for (const [headers, hint] of [
      [{}, 'private, gated and missing repositories get this response'],
      [{ 'x-error-code': 'GatedRepo' }, 'the repository is gated: accept its terms at'],
    ] as const) {
      await serve(repositories(), { [`${oldest.base}/resolve/main/config.json`]: refuse(headers) });
      const error = await expectError(load(oldest.name), 'NetworkError', /config.json: status 401 from .*microsoft\/tiny-deberta/);
      expect(error.status).toBe(401);
      expect(error.message).toContain(hint);
      expect(error.message).toContain("gliner takes that of 'microsoft/tiny-deberta' (model_name of gliner_config.json)");
    }
  });

  it.each(
    [
      '../..',
      '../../etc/passwd',
      'a/../b',
      'a/b..c',
      '/etc',
      'a/b/c',
      'https://example.org/x',
      'file:///etc',
      'C:\\models\\x',
      '.hidden',
      '',
      ' ',
      7,
      null,
      ['a/b'],
      { a: 1 },
      'a'.repeat(300),
    ].map((name) => [String(name).slice(0, 40), name] as const),
  )('model_name: %s', async (_, model_name) => {
    await serve(repositories({ [`${oldest.name}/gliner_config.json`]: spanConfig(oldest.name, { model_name }) }));
    const isName = String(model_name).length > 99; // the longest is a name of no repository
    const expected = isName
      ? /looked for its config.json in http/
      : /gliner_config.json: model_name: expected the id of the encoder's repository \('org\/name'\), found /;
    const error = await expectError(load(oldest.name), 'ModelFormatError', expected);
    expect(error.message.length).toBeLessThan(2500);
    const own = hub?.requests.filter(
      (line) => !line.startsWith(`GET /${oldest.name}/`) && !line.startsWith(`HEAD /${oldest.name}/`),
    );
    expect(own).toHaveLength(isName ? 1 : 0);
    cpSync(folder(oldest.name), join(temporary, 'model'), { recursive: true });
    writeFileSync(join(temporary, 'model/gliner_config.json'), spanConfig(oldest.name, { model_name }));
    await expectError(load(join(temporary, 'model')), 'ModelFormatError', /expected the id|found none: gliner takes that/);
  });

  it('a tokenizer with more or fewer tokens than the table has rows', async () => {
    const base = readJson('spans_hub/tiny-bert/tokenizer.json');
    const { vocab } = base.model;
    for (const change of [1, -1]) {
      const other = { ...vocab };
      const last = Object.keys(vocab).length - 1;
      if (change > 0) other['##more'] = last + 1;
      else delete other[Object.keys(vocab).find((word) => vocab[word] === last) as string];
      await serve(
        repositories({ 'tiny-bert/tokenizer.json': JSON.stringify({ ...base, model: { ...base.model, vocab: other } }) }),
      );
      await expectError(
        load(token.name),
        'ModelFormatError',
        /word_embeddings.weight': expected shape \[14[68], 16\], found \[147, 16\]/,
      );
    }
    // Without ids in gliner_config.json, config.json's number does not count; with ids, gliner_config.json's does.
    const config = readJson('spans_hub/microsoft/tiny-deberta/config.json');
    await serve(repositories({ [`${oldest.base}/config.json`]: JSON.stringify({ ...config, vocab_size: 5 }) }));
    await expectPython(oldest.name, oldest);
    await expectPython(own.name, own);
  });

  it('settings that do not fit', async () => {
    const refused = async (changes: object, message: RegExp, of = own) => {
      await serve(repositories({ [`${of.name}/gliner_config.json`]: spanConfig(of.name, changes) }));
      await expectError(load(of.name), 'ModelFormatError', message);
    };
    await refused({ vocab_size: 0 }, /gliner_config.json: vocab_size: expected a number of tokens, or -1, found 0/);
    await refused({ vocab_size: 1e9 }, /gliner_config.json: vocab_size: /);
    await refused({ vocab_size: 'x' }, /gliner_config.json: vocab_size: /);
    await refused({ class_token_index: -2 }, /gliner_config.json: class_token_index: /);
    await refused({ class_token_index: own.rows }, /class_token_index: expected an id below vocab_size 94, found 94/);
    await refused({ vocab_size: own.rows + 1 }, /word_embeddings.weight/);
    await refused({ encoder_config: 7 }, /gliner_config.json: encoder_config: /);
    await refused({ encoder_config: 'x' }, /gliner_config.json: encoder_config: /);
  });

  it('a config.json beside gliner_config.json that is not of an encoder', async () => {
    for (const config of ['{}', '{"model_type":"gliner"}', '{"model_type":3}']) {
      await serve(repositories({ [`${oldest.name}/config.json`]: config }));
      await expectPython(oldest.name, oldest);
    }
    await serve(repositories({ [`${oldest.name}/config.json`]: '[]' }));
    await expectError(load(oldest.name), 'ModelFormatError', /config.json: expected an object/);
  });
});
