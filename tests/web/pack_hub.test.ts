// `wattn pack --hub`: a folder that is ready to publish, and loads as is.
import { createHash } from 'node:crypto';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { AutoTokenizer, cache, describeModel, env, pipeline, type LoadOptions, type ZeroShotNerPipeline } from 'wattn';
import { linesOf, wattn } from './cli_support.js';
import { expectError, filesOf, goldens, headFiles, serveHub, tiny, type Files } from './support.js';
import { wideFiles } from './wide.js';

const { remoteHost, useCache } = env;
const text = 'A small boat waits below the old bridge.';
let folder: string;
beforeEach(() => void (folder = mkdtempSync(join(tmpdir(), 'wattn-hub-'))));
afterEach(() => {
  Object.assign(env, { remoteHost, useCache });
  rmSync(folder, { recursive: true });
});

const kCard = `---
language:
- en
- de
license: apache-2.0
library_name: sentence-transformers
pipeline_tag: sentence-similarity
tags:
- x
base_model: org/older
---

# Tiny
`;

function written(files: Files, name: string): string {
  const path = join(folder, name);
  for (const [file, bytes] of files) {
    mkdirSync(dirname(join(path, file)), { recursive: true });
    writeFileSync(join(path, file), bytes);
  }
  return path;
}

const bytesOf = (text: string) => new TextEncoder().encode(text);
const original = () => new Map([...wideFiles(tiny), ['README.md', bytesOf(kCard)], ['LICENSE', bytesOf('Be kind.')]] as const);

async function vectorOf(model: any, options: LoadOptions = {}): Promise<Float32Array> {
  const embed = await pipeline('feature-extraction', model, options);
  const { data } = await embed(text);
  await embed.dispose();
  return data;
}

describe('wattn pack --hub', () => {
  it('writes the file, a card, the licence and the small files, which load as a folder and as a repository', async () => {
    const source = written(original(), 'tiny');
    const out = join(folder, 'out');
    const [said] = linesOf(await wattn(['pack', '--model', source, '--dtype', 'native', '--hub', out]));
    const names = [...filesOf(out).keys()].sort();
    expect(said).toMatchObject({ hub: out, file: 'model-W8.gguf', license: 'apache-2.0', files: names });
    for (const name of ['.gitattributes', 'LICENSE', 'README.md', 'config.json', 'tokenizer.json', 'modules.json'])
      expect(names).toContain(name);
    expect(names.filter((name) => /safetensors|\.part$/.test(name))).toEqual([]);
    expect(said.sha256).toBe(createHash('sha256').update(readFileSync(join(out, said.file))).digest('hex')); // prettier-ignore
    const card = readFileSync(join(out, 'README.md'), 'utf8');
    expect(card.split('---')[1]).toBe(`
language:
- en
- de
license: apache-2.0
pipeline_tag: sentence-similarity
base_model: org/older
base_model_relation: quantized
library_name: wattn
tags:
- wattn
- gguf
`);
    expect(card).toContain(`| \`model-W8.gguf\` | ${said.bytes} | \`${said.sha256}\` |`);
    expect(card).toContain("await pipeline('feature-extraction', 'org/name')");
    expect(readFileSync(join(out, 'LICENSE'), 'utf8')).toBe('Be kind.');

    const expected = await vectorOf(source, { dtype: 'q8' });
    expect(await vectorOf(out)).toEqual(expected);
    expect(await vectorOf(out, { worker: true })).toEqual(expected);
    expect(await vectorOf(out, { prefer: 'packed' })).toEqual(expected);
    expect(await vectorOf(filesOf(out))).toEqual(expected);
    expect((await describeModel(out)).model_type).toBe('bert');
    const [tokenizer, own] = [await AutoTokenizer.from_pretrained(out), await AutoTokenizer.from_pretrained(source)];
    expect(tokenizer.encode(text)).toEqual(own.encode(text));

    const hub = await serveHub(filesOf(out), '/org/tiny-w8/resolve/main/');
    Object.assign(env, { remoteHost: hub.url, useCache: true });
    const options = { cache_dir: join(folder, 'cache') };
    try {
      expect(await vectorOf('org/tiny-w8', options)).toEqual(expected);
      expect(await cache.has('org/tiny-w8', options)).toBe(true);
      hub.requests.splice(0);
      expect(await vectorOf('org/tiny-w8', options)).toEqual(expected);
      expect(await vectorOf('org/tiny-w8', { ...options, local_files_only: true })).toEqual(expected);
      expect(hub.requests).toEqual([]);
    } finally {
      await hub.close();
    }
  });

  it('has the files of a model that was cut', async () => {
    const corpus = join(folder, 'corpus.txt');
    writeFileSync(corpus, `${text}\n`.repeat(9));
    const out = join(folder, 'out');
    const cut = ['--vocab', '150', '--corpus', corpus, '--layers', '0', '--dim', '16'];
    const [said] = linesOf(await wattn(['pack', '--model', tiny, '--dtype', 'q4', ...cut, '--hub', out]));
    expect(said).toMatchObject({ file: 'model-Q4_0.gguf', vocab: 150, dim: 16, layers: 1, license: null });
    const config = JSON.parse(readFileSync(join(out, 'config.json'), 'utf8'));
    expect(config).toMatchObject({ vocab_size: 150, num_hidden_layers: 1 });
    expect(Object.keys(JSON.parse(readFileSync(join(out, 'tokenizer.json'), 'utf8')).model.vocab).length).toBe(150);
    expect((await vectorOf(out)).length).toBe(16);
    expect(readFileSync(join(out, 'README.md'), 'utf8')).toMatch(
      /150 pieces of its vocabulary, the first 16 components of its vectors, 1 layer\./,
    );
  });

  it.each([
    ['text-classification', () => headFiles('sequence')],
    ['text-generation', () => filesOf(join(goldens, 'decoders/qwen3'))],
    ['text2text-generation', () => filesOf(join(goldens, 'seq2seq/bart'))],
  ])('names the task of the head: %s', async (task, files) => {
    const out = join(folder, 'out');
    linesOf(await wattn(['pack', '--model', written(files(), 'model'), '--hub', out]));
    expect(readFileSync(join(out, 'README.md'), 'utf8')).toContain(`pipeline_tag: ${task}\n`);
    await (await pipeline(task as 'text-classification', out)).dispose();
  });

  it.each([
    ['spans', 'zero-shot-ner'],
    ['schemas', 'zero-shot-ner'],
    ['labels', 'zero-shot-classification'],
  ] as const)('writes a model that reads its labels, which loads from the folder: %s', async (set, task) => {
    const source = join(goldens, set, 'bert');
    const out = join(folder, 'out');
    linesOf(await wattn(['pack', '--model', source, '--dtype', 'f32', '--hub', out]));
    expect(readFileSync(join(out, 'README.md'), 'utf8')).toContain(`pipeline('${task}', 'org/name')`);
    const found = async (model: string) => {
      const pipe = (await pipeline(task, model)) as ZeroShotNerPipeline;
      const answer = await pipe(text, ['boat', 'bridge']);
      await pipe.dispose();
      return answer;
    };
    expect(await found(out)).toEqual(await found(source));
  });

  it.each([
    ['a folder with files', [], /--hub: expected a new or an empty folder, found 'a\.txt' in /],
    ['a file beside it', ['--out', 'x.gguf'], /--out: not allowed with --hub/],
  ])('refuses %s, and changes nothing', async (_, more, message) => {
    const out = join(folder, 'out');
    mkdirSync(out);
    if (more.length === 0) writeFileSync(join(out, 'a.txt'), '');
    const said = await wattn(['pack', '--model', tiny, '--hub', out, ...more]);
    expect(said).toMatchObject({ code: 2, out: '', error: expect.stringMatching(message) });
    expect(readdirSync(out)).toEqual(more.length === 0 ? ['a.txt'] : []);
  });

  it('leaves no part of a file where packing fails', async () => {
    const out = join(folder, 'out');
    const said = await wattn(['pack', '--model', tiny, '--layers', '7', '--hub', out]);
    expect(said.code).toBe(2);
    expect(readdirSync(out)).toEqual([]);
  });

  it('is found by its card alone: another folder with such a file says what it lacks', async () => {
    const out = join(folder, 'out');
    linesOf(await wattn(['pack', '--model', tiny, '--hub', out]));
    rmSync(join(out, 'README.md'));
    await expectError(vectorOf(out), 'ModelFormatError', /model\.safetensors: expected this file/);
    expect((await vectorOf(out, { prefer: 'packed' })).length).toBe(32);
  });
});
