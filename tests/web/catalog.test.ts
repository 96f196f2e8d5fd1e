// The list of models (models/catalog.json): the guide, the command and the demo show it, and it matches the files and the scores.
import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { pipeline } from 'wattn';
import { kSuggestions } from '../../demo/src/model/models.js';
import { kAliases } from '../../web/tasks/aliases.js';
import { kDefaults } from '../../web/tasks/defaults.js';
import { linesOf, wattn } from './cli_support.js';
import { root } from './support.js';

const read = (path: string) => readFileSync(join(root, path), 'utf8');
const { models, measured } = JSON.parse(read('models/catalog.json'));
const scores = JSON.parse(read('models/scores.json'));
const idsOf = (rows: { id: string }[]) => rows.map(({ id }) => id);

describe('the list of models', () => {
  it('says how large the files of shipped models are', () => {
    const shipped = models.filter(({ from }: any) => from === 'shipped');
    expect(idsOf(shipped)).toEqual(['wattn-default', 'wattn-base', 'wattn-large', 'wattn-pii', 'wattn-multi', 'wattn-story']);
    for (const { file, bytes } of shipped) expect([file, bytes]).toEqual([file, statSync(join(root, file)).size]);
  });

  it('holds what a loaded model says of its memory', async () => {
    for (const { file, tasks, memory } of models.filter(({ from }: any) => from === 'shipped')) {
      const pipe = await pipeline(tasks[0], join(root, file), { dtype: 'q8', threads: 1 });
      const writes = tasks[0] === 'text-generation'; // 32 tokens, as tools/models/measure.mjs does
      await (pipe as any)(writes ? 'Once upon a time' : measured.text, writes ? { max_new_tokens: 32, min_new_tokens: 32 } : {});
      expect([file, Math.abs(pipe.memory().total / memory - 1) < 0.05]).toEqual([file, true]);
      await pipe.dispose();
    }
  });

  it('has the scores of models/scores.json, and otherwise a source that has the figure', () => {
    const all = models.flatMap(({ id, quality = [] }: any) => quality.map((one: any) => ({ id, ...one })));
    for (const { id, measure, value, source } of all) {
      if (source === 'models/scores.json')
        expect([id, measure, value]).toEqual([id, measure, scores[id.split('/').at(-1)][measure]]);
      else if (source !== 'its card') expect(read(source)).toContain(String(value));
    }
    expect(all.filter(({ source }: any) => source === 'models/scores.json').length).toBeGreaterThan(6);
  });

  it('quotes licences and sizes as the long list does', async () => {
    const { facts, realWeights } = await import(join(root, 'tools/models/facts.mjs'));
    const known = models.filter(({ id }: any) => id in facts);
    expect(known.length).toBeGreaterThan(9);
    for (const { id, from, bytes, licence } of known) {
      const [millions, , says] = facts[id];
      const least = millions * (/SmolLM2/.test(id) ? 2e6 : 4e6); // published in bf16
      expect([id, licence, bytes / least > 0.9 && bytes / least < 1.13]).toEqual([id, says, true]);
      expect([id, from === 'run']).toEqual([id, realWeights.includes(id)]);
    }
  });

  it('has the default model of each task, with its licence', () => {
    for (const [task, [id, licence]] of Object.entries(kDefaults)) {
      const model = models.find((one: any) => one.id === id);
      expect([task, model?.licence, model?.tasks]).toEqual([task, licence, expect.arrayContaining([kAliases[task] ?? task])]);
    }
  });

  it('answers what is wanted with a task that the model has, and a guide that is there', () => {
    for (const { id, wants, tasks } of models) {
      expect([id, wants.length > 0]).toEqual([id, true]);
      for (const { task, guide } of wants) {
        expect(tasks).toContain(task);
        expect(read(`docs/${guide}`)).toMatch(/^# /m);
      }
    }
  });
});

describe('who shows the list', () => {
  it('docs/choose.md has its tables (node tools/models_table.mjs writes them)', async () => {
    const { choiceTables } = await import(join(root, 'tools/models/catalog.mjs'));
    const { withTables } = await import(join(root, 'tools/models/table.mjs'));
    const text = read('docs/choose.md');
    expect(withTables(text, choiceTables())).toBe(text);
  });

  it('wattn models --json writes its rows', async () => {
    expect(linesOf(await wattn(['models', '--json']))).toEqual(models);
  });

  it('wattn models filters by task, language and bytes, and says what it does not know', async () => {
    const ids = async (...args: string[]) => idsOf(linesOf(await wattn(['models', '--json', ...args])));
    expect(await ids('--task', 'ner')).toEqual(['wattn-pii', 'dslim/distilbert-NER']);
    expect(await ids('--task', 'embedding', '--max-bytes', '10MB')).toEqual(['wattn-default', 'wattn-base']);
    expect(await ids('--max-bytes', '1870112')).toEqual(['wattn-story']);
    expect(await ids('--language', 'sw')).toEqual(['intfloat/multilingual-e5-small']);
    expect((await wattn(['models', '--json', '--language', 'xx'])).out).toBe('');
    expect((await wattn(['models', '--language', 'xx'])).out).toMatch(/^No model in the list/);
    const said = await wattn(['models', '--task', 'summarize']);
    expect(said.out).toContain('google-t5/t5-small\n  ');
    expect(said.out).toContain('242 MB to download');
    for (const [option, value, expected] of [
      ['--task', 'paint', /--task: expected one of feature-extraction, .*found 'paint'/],
      ['--language', 'German', /--language: expected a code such as en or de, found 'German'/],
      ['--max-bytes', 'few', /--max-bytes: expected a number of bytes, .*found 'few'/],
    ] as const) {
      const { code, error } = await wattn(['models', option, value]);
      expect([code, error]).toEqual([2, expect.stringMatching(expected)]);
    }
  });

  it('the demo suggests every model whose task it has', () => {
    const shown = ['feature-extraction', 'text-classification', 'token-classification', 'fill-mask', 'text-generation'];
    const those = models.filter(({ tasks }: any) => tasks.some((task: string) => shown.includes(task)));
    expect(kSuggestions.map(({ id, licence, good }) => [id, licence, good])).toEqual(
      those.map(({ id, licence, good }: any) => [id, licence, good]),
    );
    for (const [i, { size, time }] of kSuggestions.entries()) {
      expect(Math.abs(parseFloat(size) - those[i].bytes / 1e6)).toBeLessThanOrEqual(0.5);
      const { ms, ms_of = 'a text' } = those[i];
      expect(time).toBe(ms && `${ms} ms ${ms_of.replace(/^an? /, 'per ')}`);
    }
  });
});
