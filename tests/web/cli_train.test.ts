// wattn train: its files, resuming, and rejected arguments.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Classifier, pipeline } from 'wattn';
import { Trainer, type TrainerOptions } from 'wattn/train';
import { cli, linesOf, wattn } from './cli_support.js';
import { expectError, goldens, root, tiny, until } from './support.js';

const kTable = `text,label
the river,water
"a boat, on the river",water
the old boat,water
small birds sing,sky
"the ""wind"" and birds",sky

"birds
in the wind",sky
`;
const kRows = [
  ['the river', 'water'],
  ['a boat, on the river', 'water'],
  ['the old boat', 'water'],
  ['small birds sing', 'sky'],
  ['the "wind" and birds', 'sky'],
  ['birds\nin the wind', 'sky'],
].map(([text, label]) => ({ text, label })) as { text: string; label: string }[];
const kLines = kRows.map((row) => `${JSON.stringify(row)}\n`).join('');

let folder: string;
beforeEach(() => (folder = mkdtempSync(join(tmpdir(), 'wattn-train-'))));
afterEach(() => rmSync(folder, { recursive: true }));

const path = (name: string) => join(folder, name);
function file(name: string, text: string): string {
  writeFileSync(path(name), text);
  return path(name);
}
const args = (data: string, out: string, ...more: string[]) => [
  ...['train', '--task', 'text-classification', '--model', tiny, '--threads', '1', '--learning-rate', '0.01'],
  ...['--data', data, '--out', path(out), ...more],
];
const bytesOf = (out: string) =>
  readdirSync(path(out))
    .sort()
    .map((name) => [name, readFileSync(join(path(out), name), 'base64')]);

/** The files that a Trainer with the same options saves. */
async function learned(options: Partial<TrainerOptions>, rows: object[] = kRows): Promise<[string, string][]> {
  const trainer = await Trainer.from_pretrained(tiny, {
    task: 'text-classification',
    threads: 1,
    learning_rate: 0.01,
    ...options,
  });
  for await (const _ of trainer.fit(rows as typeof kRows));
  const files = Object.entries(await trainer.save()).sort(([a], [b]) => (a < b ? -1 : 1));
  await trainer.dispose();
  return files.map(([name, bytes]) => [name, Buffer.from(bytes).toString('base64')]);
}

describe('wattn train', () => {
  it('writes what a Trainer saves, from each kind of file', async () => {
    const expected = await learned({ max_steps: 3, seed: 5, r: 4 });
    const tabs = kTable.replace('text,label', 'text\tlabel').replace(/,(water|sky)$/gm, '\t$1');
    for (const data of [
      file('rows.csv', kTable),
      file('windows.csv', `\uFEFF${kTable.replaceAll('\n', '\r\n').replace('birds\r\nin', 'birds\nin').trimEnd()}`),
      file('rows.tsv', tabs),
      file('rows.jsonl', kLines),
    ]) {
      const said = await wattn(args(data, 'out', '--max-steps', '3', '--seed', '5', '--r', '4'));
      const [first, , third, last] = linesOf(said);
      expect(first).toMatchObject({ step: 1, max_steps: 3, loss: expect.any(Number), seconds_left: expect.any(Number) });
      expect(third.step).toBe(3);
      expect(last.out).toBe(path('out'));
      expect(last.files.sort()).toEqual(expected.map(([name]) => name));
      expect(bytesOf('out')).toEqual(expected);
    }
  });

  it('writes a whole model that other commands read', async () => {
    const data = file('rows.jsonl', kLines);
    expect((await wattn(args(data, 'out', '--max-steps', '2', '--method', 'full'))).code).toBe(0);
    const [{ embedding }] = linesOf(await wattn(['embed', '--model', path('out'), '--pooling', 'mean', 'the river']));
    const embed = await pipeline('feature-extraction', path('out'));
    expect(embedding.map(Math.fround)).toEqual([...(await embed('the river', { pooling: 'mean' })).data]);
    const saved = ['classifier.json', 'classifier.safetensors'].map((name) => [name, readFileSync(join(path('out'), name))]);
    const classifier = await Classifier.load((texts, how) => embed(texts, { pooling: 'mean', ...how }), Object.fromEntries(saved));
    expect(await classifier('the river')).toMatchObject([{ label: expect.stringMatching(/^(sky|water)$/) }]);
    await embed.dispose();
  });

  it('leads from labelled lines to labels', async () => {
    const data = file('rows.jsonl', kLines);
    const trainer = await Trainer.from_pretrained(tiny, {
      task: 'text-classification',
      threads: 1,
      learning_rate: 0.01,
      max_steps: 4,
    });
    await trainer.fit(kRows);
    const texts = ['the river', 'small birds'];
    const expected = await trainer.classifier(texts, { top_k: null as number | null });
    await trainer.dispose();
    const near = (labels: { label: string; score: number }[][]) =>
      expect(labels.map((each) => each.map(({ label, score }) => [label, score.toFixed(4)]))).toEqual(
        expected.map((each) => each.map(({ label, score }) => [label, score.toFixed(4)])),
      );
    expect((await wattn(args(data, 'out', '--max-steps', '4'))).code).toBe(0);
    const said = linesOf(await wattn(['classify', '--model', tiny, '--adapter', path('out'), ...texts]));
    expect(said.map(({ text }) => text)).toEqual(texts);
    near(said.map(({ labels }) => labels));
    const run = linesOf(
      await wattn(['run', '--task', 'text-classification', '--model', tiny, '--adapter', path('out'), 'the river']),
    );
    expect(run[0].result).toMatchObject({ label: expected[0]?.[0]?.label });
    for (const worker of [false, true]) {
      const classify = await pipeline('text-classification', tiny, { adapter: path('out'), worker });
      near(await classify(texts, { top_k: null }));
      expect(await classify('the river')).toMatchObject([{ label: expected[0]?.[0]?.label }]);
      expect((await classify(texts)).tokens).toEqual([4, 4]);
      await expectError(classify([{ text: 'a', text_pair: 'b' }]), 'InputError', /a single text at index 0/);
      await expectError(
        classify('a', { function_to_apply: 'none' }),
        'InputError',
        /'function_to_apply': expected one of 'softmax'/,
      );
      await expectError(classify('a', { adapter: false }), 'InputError', /one with a classifier \('default'\), found false/);
      await classify.merge_and_unload();
      near(await classify(texts, { top_k: null }));
      await classify.dispose();
    }
    const two = await pipeline('text-classification', tiny, { adapters: { one: path('out'), two: path('out') } });
    near(await two(texts, { top_k: null, adapter: 'two' }));
    await two.dispose();
  });

  it('leads to labels with a whole model, too', async () => {
    const data = file('rows.jsonl', kLines);
    expect((await wattn(args(data, 'whole', '--max-steps', '2', '--method', 'full'))).code).toBe(0);
    const [said] = linesOf(await wattn(['classify', '--model', path('whole'), '--top-k', '1', 'the river']));
    expect(said.labels).toEqual([{ label: expect.stringMatching(/^(sky|water)$/), score: expect.any(Number) }]);
    const broken = readFileSync(join(path('whole'), 'classifier.json'), 'utf8').replace('"water"', '"waste"');
    writeFileSync(join(path('whole'), 'classifier.json'), broken);
    const refused = await wattn(['classify', '--model', path('whole'), 'the river']);
    expect(refused).toMatchObject({ code: 2, error: expect.stringMatching(/classifier\.json: .*SHA-256/) });
  });

  it('says for which task a folder is', async () => {
    const data = file('rows.jsonl', kLines);
    expect((await wattn(args(data, 'out', '--max-steps', '1'))).code).toBe(0);
    const refused = async (more: string[], message: RegExp) =>
      expect(await wattn([...more, 'the river'])).toMatchObject({ code: 2, error: expect.stringMatching(message) });
    await refused(
      ['run', '--task', 'ner', '--model', tiny, '--adapter', path('out')],
      /this adapter is for 'feature-extraction', and for 'text-classification' with a classifier\.json/,
    );
    const byBase = await wattn(['classify', '--model', tiny, '--adapter', path('out'), 'the river']);
    expect(byBase.code).toBe(0);
    expect(await wattn(['classify', '--model', path('out'), 'the river'])).toEqual(byBase); // it names its base
    rmSync(join(path('out'), 'classifier.json'));
    await refused(
      ['classify', '--model', tiny, '--adapter', path('out')],
      /for 'text-classification' with a classifier\.json beside/,
    );
  });

  it('takes labels that are numbers, pairs and scored pairs', async () => {
    const numbers = kRows.map(({ text, label }) => ({ text, label: label === 'sky' ? 1 : 0 }));
    const data = file('numbers.jsonl', numbers.map((row) => JSON.stringify(row)).join('\n'));
    expect((await wattn(args(data, 'numbers', '--max-steps', '1'))).code).toBe(0);
    expect(JSON.parse(readFileSync(join(path('numbers'), 'classifier.json'), 'utf8')).labels).toEqual(['0', '1']);
    const vectors = (name: string, text: string, ...more: string[]) =>
      wattn([
        'train',
        '--task',
        'feature-extraction',
        '--model',
        tiny,
        '--data',
        file(name, text),
        '--out',
        path(name + '-out'),
        ...more,
      ]);
    expect(
      linesOf(await vectors('pairs.jsonl', '{"anchor":"a river","positive":"water"}\n{"anchor":"birds","positive":"sky"}')).at(-1),
    ).toMatchObject({ files: ['adapter_config.json', 'adapter_model.safetensors'] });
    const scored = 'score,sentence1,sentence2\n0.9,a river,water\n1e-1,birds,home\n0.5,sky,"the wind"\n';
    expect((await vectors('scored.csv', scored, '--loss', 'CoSENTLoss', '--progress')).error).toMatch(
      /^step 1 of 1, loss [\d.]+, \d+ s left\n$/m,
    );
  });

  it('trains an encoder-decoder that other commands read', async () => {
    const t5 = join(goldens, 'seq2seq/t5');
    const data = file('rows.csv', 'article,summary\nthe old boat waits,a boat\n"home, below the bridge",the bridge\n');
    const more = ['--max-steps', '3', '--threads', '1', '--validation', data];
    const said = await wattn([
      ...['train', '--task', 'text2text-generation', '--model', t5, '--data', data, '--out', path('t5'), ...more],
    ]);
    expect(linesOf(said)[2]).toMatchObject({ step: 3, evaluation: { loss: expect.any(Number), perplexity: expect.any(Number) } });
    expect(linesOf(said).at(-1).files).toEqual(['adapter_config.json', 'adapter_model.safetensors']);
    const made = await wattn(['generate', '--model', t5, '--adapter', path('t5'), '--max-new-tokens', '3', 'the old boat']);
    expect(made.code).toBe(0);
    const refused = await wattn([
      ...['train', '--task', 'text2text-generation', '--model', t5, '--data', file('a.jsonl', '{"text":"a"}'), '--out', path('no')],
    ]);
    expect(refused).toMatchObject({ code: 2, error: expect.stringMatching(/\{ text, target \}, found one with text/) });
  });

  it('keeps the best state and ends early', async () => {
    const data = file('rows.jsonl', kLines);
    const more = ['--validation', data, '--eval-steps', '1', '--early-stopping-patience', '2', '--max-steps', '40', '--progress'];
    const { out, error, code } = await wattn(args(data, 'out', ...more));
    expect(code).toBe(0);
    expect(out.trim().split('\n').length).toBeLessThan(30);
    expect(error).toMatch(/accuracy \d\.\d{3}, macro_f1 \d\.\d{3}, \d+ s left\n/);
  });

  /** Starts a long run, and waits until its state is there. Nobody reads its output: it waits for a reader before it ends. */
  async function started(all: string[], out: string) {
    const child = spawn(process.execPath, [cli, ...all], { cwd: root });
    await until(() => existsSync(join(path(out), 'trainer_state.safetensors')) || child.exitCode !== null);
    expect(child.exitCode).toBe(null);
    return child;
  }

  it('goes on after it was killed or stopped, to the same bits', async () => {
    const data = file('rows.jsonl', kLines);
    const more = ['--max-steps', '800', '--save-steps', '100', '--validation', data, '--eval-steps', '30'];
    expect((await wattn(args(data, 'whole', ...more))).code).toBe(0);

    const killed = await started(args(data, 'killed', ...more), 'killed');
    killed.kill('SIGKILL');
    await once(killed, 'exit');
    const again = await wattn(args(data, 'killed', ...more));
    expect(again).toMatchObject({ code: 2, error: expect.stringMatching(/--resume/) });
    const [first] = linesOf(await wattn(args(data, 'killed', ...more, '--resume')));
    expect([first.step % 100, first.step > 100]).toEqual([1, true]);
    expect(bytesOf('killed').filter(([name]) => !name?.endsWith('.part'))).toEqual(bytesOf('whole'));

    const stopped = await started(args(data, 'stopped', ...more), 'stopped');
    stopped.kill('SIGINT');
    let lines = '';
    let error = '';
    stopped.stdout.on('data', (text) => (lines += text));
    stopped.stderr.on('data', (text) => (error += text));
    const [code] = await once(stopped, 'close');
    expect([code, error]).toEqual([130, expect.stringMatching(/^wattn: stopped; --resume continues .*\n$/)]);
    expect(readdirSync(path('stopped'))).toEqual(['trainer_state.safetensors']);
    const { step } = JSON.parse(lines.trim().split('\n').at(-1) as string);
    const rest = linesOf(await wattn(args(data, 'stopped', ...more, '--resume')));
    expect(rest[0].step).toBe(step + 1);
    expect(bytesOf('stopped')).toEqual(bytesOf('whole'));
  });

  it('says in which line a row is wrong', async () => {
    const refused = async (name: string, text: string, message: RegExp) => {
      const data = file(name, text);
      const { code, out, error } = await wattn(args(data, 'out'));
      expect([name, code, out, error]).toEqual([name, 2, '', expect.stringMatching(message)]);
      expect(existsSync(path('out'))).toBe(false);
    };
    const good = '{"text":"a","label":"x"}\n';
    await refused(
      'a.jsonl',
      `${good}\n{"text":"b"}\n`,
      /--data: \S+a\.jsonl, line 3: expected a string as 'label', found undefined/,
    );
    await refused('b.jsonl', `${good}{"text":`, /b\.jsonl, line 2: expected JSON, found/);
    await refused(
      'i.jsonl',
      `${good}{"x":${'['.repeat(100_000)}${']'.repeat(100_000)}}`,
      /i\.jsonl, line 2: expected JSON, found too deep/,
    );
    await refused('c.jsonl', `${good}["b"]`, /c\.jsonl, line 2: expected a JSON object, found an array/);
    await refused(
      'h.jsonl',
      '{"text":"a","label":0.5}',
      /h\.jsonl, line 1: .* whole number as 'label', found 0\.5 \(use --loss MSELoss/,
    );
    await refused('d.jsonl', `${good}${good}`, /two labels/);
    await refused('e.jsonl', '\n', /expected rows, found none/);
    await refused('f.jsonl', '{"texts":"a"}', /\{ text\[, text_pair\], label \}/);
    await refused('a.csv', 'text,label\n"a\n\nb",x\nc,y,z\n', /a\.csv, line 5: expected 2 fields, as in the header, found 3/);
    await refused('b.csv', 'text,label\na,x\n"b,y\n', /b\.csv, line 3: expected a closing quote, found the end of the file/);
    await refused(
      'c.csv',
      'text,label\n"a"b,x\n',
      /c\.csv, line 2: expected the end of the field after a closing quote, found 'b'/,
    );
    await refused('d.csv', 'text,label,text\n', /d\.csv, line 1: two columns have the name 'text'/);
    await refused('e.csv', 'text,label\n', /expected rows, found none/);
    await refused('f.csv', 'sentence1,sentence2,score\na,b,high\n', /f\.csv, line 2: expected a number as 'score', found 'high'/);
    await refused('a.txt', 'a', /--data: expected a \.jsonl, \.csv or \.tsv file, found/);
    writeFileSync(path('g.csv'), Buffer.from([0x74, 0xff]));
    expect((await wattn(args(path('g.csv'), 'out'))).error).toMatch(/expected text in UTF-8/);
  });

  it('refuses what it does not know', async () => {
    const data = file('rows.jsonl', kLines);
    const refused = async (all: string[], message: RegExp) => {
      const { code, error } = await wattn(all);
      expect([code, error]).toEqual([2, expect.stringMatching(message)]);
    };
    await refused(['train'], /--task: expected text-classification or .* feature-extraction, found none/);
    await refused(args(data, 'out', '--lerning-rate', '1'), /learning-rate/);
    await refused(args(data, 'out', '--options', '{"lerning_rate":1}'), /did you mean 'learning_rate'/);
    await refused(args(data, 'out', '--method', 'half'), /method.*lora.*half/);
    await refused(args(data, 'out', '--resume'), /--resume: expected the state of a run, found no/);
    await refused(args(path('none.csv'), 'out'), /--data: cannot read \S+none\.csv: ENOENT/);
    await refused(args(data, 'rows.jsonl'), /--out: cannot make the folder \S+rows\.jsonl/);
    await refused(
      [...args(data, 'out'), '--validation', file('v.jsonl', '{"anchor":"a","positive":"b"}')],
      /--validation: expected rows like the training rows/,
    );
    expect(linesOf(await wattn(args(data, 'out', '--max-steps', '1', '--options', '{"weight_decay":0}'))).length).toBe(2);
  });
});
