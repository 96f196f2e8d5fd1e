// Bi-encoders of GLiNER against the package gliner (tests/goldens/spans_bi): labels have an encoder of their own.
import { cpSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  cache,
  describeModel,
  env,
  packModel,
  pipeline,
  type LoadOptions,
  type ModelSpecifier,
  type NerEntity,
  type ProgressInfo,
} from 'wattn';
import { linesOf, wattn } from './cli_support.js';
import { expectError, filesOf, goldens, readJson, serveHub, turn, type Files, type Hub } from './support.js';

const { cases, texts, labels, options } = readJson('spans_bi/cases.json') as {
  cases: string[];
  texts: string[];
  labels: string[][];
  options: Record<string, unknown>[];
};
const folder = (name: string) => join(goldens, 'spans_bi', name);
const load = (model: ModelSpecifier, settings: LoadOptions = {}) => pipeline('zero-shot-ner', model, settings);

const utf16 = (text: string, codePoints: number) => [...text].slice(0, codePoints).join('').length;
const places = (entities: NerEntity[]) => entities.map(({ label, start, end }) => ({ label, start, end }));

/** The entities of the package. */
async function expectPython(model: ModelSpecifier, golden: string, settings: LoadOptions = {}): Promise<void> {
  const ner = await load(model, settings);
  const { f32_diff, calls } = readJson(`spans_bi/${golden}/expected.json`);
  for (const [t, l, o, expected] of calls) {
    const [text, own] = [texts[t] as string, labels[l] as string[]];
    const got = await ner(text, own, options[o]);
    const entities = expected.map(([start, end, label]: number[]) => ({
      label: own[label as number],
      start: utf16(text, start as number),
      end: utf16(text, end as number),
    }));
    expect(places(got)).toEqual(entities);
    got.forEach(({ score }, i) => expect(Math.abs(score - expected[i][3])).toBeLessThanOrEqual(4 * Math.max(f32_diff, 2 ** -23)));
  }
  await ner.dispose();
}

describe('zero-shot-ner with a bi-encoder', () => {
  it.each(cases)('finds the entities of the package: %s', async (name) => {
    await expectPython(folder(name), name);
  });

  it('gives the same alone, in a batch, in a worker, and from a list of files', async () => {
    const ner = await load(folder('modernbert'));
    const there = await load(filesOf(folder('modernbert')), { worker: true });
    const own = ['person', 'place', 'boat'];
    const together = await ner(texts, own, { threshold: 0.2 });
    expect(together.flat().length).toBeGreaterThan(5);
    expect(await there(texts, own, { threshold: 0.2 })).toEqual(together);
    for (const [i, text] of texts.entries()) expect(await ner(text, own, { threshold: 0.2 })).toEqual(together[i]);
    await ner.dispose();
    await there.dispose();
  });

  it('gives a label the same scores alone and among a thousand, in any order', async () => {
    const ner = await load(folder('deberta'));
    const many = ['person', ...Array.from({ length: 998 }, (_, i) => `label ${i}`), 'place'];
    // One word is one span, which may have any label.
    const scores = (found: NerEntity[]) => new Map(found.map(({ label, score }) => [label, score]));
    const all = { threshold: 0, multi_label: true };
    const together = scores(await ner('Ada', many, all));
    expect(together.size).toBe(1000);
    expect(new Set(together.values()).size).toBeGreaterThan(100);
    const turned = scores(await ner('Ada', [...many].reverse(), all));
    const fresh = await load(folder('deberta'));
    for (const label of ['person', 'label 500', 'place']) {
      const score = together.get(label);
      expect(turned.get(label)).toBe(score);
      for (const pipe of [ner, fresh]) expect(scores(await pipe('Ada', [label], all)).get(label)).toBe(score);
    }
    await ner.dispose();
    await fresh.dispose();
  });

  it('stops between labels when told to', async () => {
    const ner = await load(folder('deberta'));
    const many = Array.from({ length: 20000 }, (_, i) => `label ${i} of very many`);
    const controller = new AbortController();
    let isDone = false;
    const reading = ner('a', many, { signal: controller.signal }).finally(() => (isDone = true));
    reading.catch(() => {}); // it is awaited below
    for (let turns = 0; turns < 5 && !isDone; ++turns) await turn(); // others have their turn while labels are read
    expect(isDone).toBe(false);
    controller.abort();
    await expect(reading).rejects.toThrow();
    expect(await ner('a', ['person'])).toBeInstanceOf(Array);
    await ner.dispose();
  });

  it('refuses what it cannot read, and says how', async () => {
    const ner = await load(folder('deberta'));
    await expectError(ner('a', []), 'InputError', /labels: expected at least one label, found/);
    await expectError(ner('a', ['']), 'InputError', /labels: expected texts with at least one token, found ''/);
    await ner.dispose();
    const files = filesOf(folder('deberta'));
    for (const name of [...files.keys()]) if (name.startsWith('labels_tokenizer/')) files.delete(name);
    await expectError(
      load(files),
      'ModelFormatError',
      /labels_tokenizer\/: expected a tokenizer in the model '.*', found none: gliner takes that of 'tiny-labels' \(labels_encoder of gliner_config.json\).*: put its config.json, tokenizer_config.json and tokenizer there, or into the folder labels_tokenizer\/ of the model/,
    );
  });

  it('is described as a model that finds spans, and packs', async () => {
    expect(await describeModel(folder('modernbert'))).toEqual({ model_type: 'modernbert', kind: 'encoder', heads: ['spans'] });
    await expectPython({ 'model.gguf': await packModel(folder('modernbert'), { dtype: 'f32' }) }, 'modernbert');
  });
});

describe('a bi-encoder whose encoders are in other repositories', () => {
  const kRepositories = ['org/tiny-bi', 'org/tiny-text', 'tiny-labels'];
  const [model, golden] = ['org/tiny-bi', 'hub/org/tiny-bi'];
  const before = { ...env };
  let hub: Hub | undefined;
  let temporary: string;

  const repositories = (): Files => {
    const files: Files = new Map();
    for (const id of kRepositories) {
      for (const [name, bytes] of filesOf(folder(`hub/${id}`))) {
        if (name !== 'expected.json') files.set(`${id}/resolve/main/${name}`, bytes);
      }
    }
    return files;
  };
  const serve = async (files: Files) => {
    hub = await serveHub(files, '/');
    env.remoteHost = hub.url;
  };

  beforeEach(() => {
    temporary = mkdtempSync(join(tmpdir(), 'wattn-bi-'));
    env.useCache = true;
    env.cacheDir = join(temporary, 'cache');
  });
  afterEach(async () => {
    Object.assign(env, before);
    await hub?.close();
    hub = undefined;
    rmSync(temporary, { recursive: true, force: true });
  });

  it('loads from a hub, then from the cache', async () => {
    await serve(repositories());
    const events: ProgressInfo[] = [];
    await expectPython(model, golden, { progress_callback: (info) => events.push(info) });
    const bases = events.flatMap((event) => (event.status === 'base' ? [event.base] : []));
    expect(bases.sort()).toEqual(['org/tiny-text', 'tiny-labels']);
    expect((await cache.list('tiny-labels')).map(({ file }) => file).sort()).toEqual([
      'config.json',
      'tokenizer.json',
      'tokenizer_config.json',
    ]);
    await hub?.close();
    hub = undefined;
    await expectPython(model, golden, { local_files_only: true });
  });

  it('loads from folders beside each other, packs, and runs on the command line', async () => {
    await expectPython(folder('hub/org/tiny-bi'), golden);
    await expectPython({ 'model.gguf': await packModel(folder('hub/org/tiny-bi'), { dtype: 'f32' }) }, golden);
    for (const id of kRepositories) cpSync(folder(`hub/${id}`), join(temporary, id.replace(/.*\//, '')), { recursive: true });
    const place = join(temporary, 'tiny-bi');
    const run = ['run', '--task', 'zero-shot-ner', '--model', place, '--labels', 'person,place', texts[0] as string];
    const [{ result }] = linesOf(await wattn(run));
    const [[, , , expected]] = readJson(`spans_bi/${golden}/expected.json`).calls;
    expect(result.map(({ start, end }: NerEntity) => [start, end])).toEqual(expected.map(([start, end]: number[]) => [start, end]));
  });

  it('says which repository it misses', async () => {
    const files = repositories();
    for (const path of [...files.keys()]) if (path.startsWith('tiny-labels/')) files.delete(path);
    await serve(files);
    await expectError(
      load(model),
      'ModelFormatError',
      /labels_encoder\/config.json: expected the configuration of the labels' encoder in the model 'org\/tiny-bi', found none: gliner takes that of 'tiny-labels'/,
    );
  });
});
