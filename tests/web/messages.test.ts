// Error messages for common mistakes: each names what was expected, what was found, and what was probably meant.
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { Index, pipeline } from 'wattn';
import { kHelp } from '../../web/cli/help.js';
import { expectError, root, tiny } from './support.js';

describe('Index.add', () => {
  const kDocument = { id: 'a', text: 'the river' };
  it.each<[string, unknown, string]>([
    ['a numeric id', { ...kDocument, id: 1 }, "document 0: expected 'id' to be a string with characters, found 1"],
    ['a numeric id in a list', [{ ...kDocument, id: 1 }], "document 0: expected 'id' to be a string with characters, found 1"],
    ['the second of a list', [kDocument, { ...kDocument, id: 2 }], "document 1: expected 'id' to be a string with characters, found 2"],
    ['no id', { text: 'the river' }, "document 0: expected 'id' to be a string with characters, found undefined"],
    ['an empty id', { ...kDocument, id: '' }, "document 0: expected 'id' to be a string with characters, found ''"],
    ['no text', { id: 'a' }, "document 0 ('a'): expected 'text' to be a string, found undefined"],
    ['a text that is none', { ...kDocument, text: 5 }, "document 0 ('a'): expected 'text' to be a string, found 5"],
    ['a title that is none', { ...kDocument, title: 1 }, "document 0 ('a'): expected 'title' to be a string, found 1"],
    ['a text', 'the river', "expected documents, found 'the river'"],
    ['a list of texts', ['the river'], "document 0: expected { id, text }, found 'the river'"],
    ['a list in a list', [[kDocument]], 'document 0: expected { id, text }, found an array'],
    ['null in a list', [null], 'document 0: expected { id, text }, found null'],
    ['a number', 5, 'expected documents, found 5'],
    ['null', null, 'expected documents, found null'],
    ['nothing', undefined, 'expected documents, found undefined'],
  ])('%s', async (_, documents, message) => {
    const index = await Index.open('messages', { store: 'memory' });
    const adding = Promise.resolve().then(() => index.add(documents as never));
    await expect(adding).rejects.toMatchObject({ name: 'InputError', message: `Index.add: ${message}` });
    expect(index.size).toBe(0);
    await index.add(kDocument);
    expect(index.size).toBe(1);
    await index.dispose();
  }); // prettier-ignore
});

describe('pipeline', () => {
  it.each<[unknown, string | undefined]>([
    ['embedding', 'feature-extraction'],
    ['embeding', 'feature-extraction'],
    ['text-embedding', 'feature-extraction'],
    ['text-clasification', 'text-classification'],
    ['clasify', 'text-classification'],
    ['Sentiment-Analysis', 'sentiment-analysis'],
    ['NER', 'ner'],
    ['summarisation', 'summarization'],
    ['chat', 'text-generation'],
    ['QA', 'question-answering'],
    ['toString', undefined],
    ['constructor', undefined],
    ['', undefined],
    [5, undefined],
    [null, undefined],
  ])('the task %p', async (task, meant) => {
    const found = await (pipeline as any)(task, tiny).catch((error: Error) => error);
    expect([found.name, found.message]).toEqual(['InputError', expect.stringMatching(/^pipeline: expected a task of feature-extraction, .*, found /)]); // prettier-ignore
    expect(/did you mean '(.+)'\?$/.exec(found.message)?.[1]).toBe(meant);
  });

  it.each([
    ['device', 'gpuu', /'device': expected one of 'wasm', .*, found 'gpuu'; did you mean 'gpu'\?/],
    ['device', 'cudaa', /found 'cudaa'; did you mean 'cuda'\?/],
    ['dtype', 'q3', /'dtype': expected one of 'f32', .*, found 'q3'/],
    ['wroker', true, /unknown option 'wroker'; did you mean 'worker'\?/],
  ])('the option %s: %p', async (name, value, message) => {
    await expectError((pipeline as any)('feature-extraction', tiny, { [name]: value }), 'InputError', message);
  });
});

describe('the command line', () => {
  const wattn = (...args: string[]) => {
    const { status, stdout, stderr } = spawnSync(process.execPath, [join(root, 'dist/cli.js'), ...args], { encoding: 'utf8', input: '' }); // prettier-ignore
    return { status, stdout, stderr };
  };
  it.each<[string[], string | undefined]>([
    [['clasify', 'x'], 'classify'],
    [['help', 'clasify'], 'classify'],
    [['tokenise'], 'tokenize'],
    [['--model', tiny], undefined],
    [['toString'], undefined],
  ])('%p', (args, meant) => {
    const { status, stdout, stderr } = wattn(...args);
    expect([status, stdout]).toEqual([2, '']);
    expect(stderr).toMatch(/^wattn: unknown command '.*'; .*commands: embed, classify, rank, .*\n$/);
    expect(/did you mean '(.+)'\?/.exec(stderr)?.[1]).toBe(meant);
  });

  it('has help by every way to ask for it', () => {
    for (const args of [[], ['help'], ['--help'], ['-h'], ['help', '--help'], ['help', 'help'], ['help', '-h']])
      expect([args, wattn(...args)]).toEqual([args, { status: 0, stdout: kHelp[''], stderr: '' }]);
  });

  it.each(Object.keys(kHelp).filter((name) => name !== ''))('%s: its own options come first, and its example is a call', (name) => {
    const help = kHelp[name]!;
    expect(help).toMatch(/^Usage: wattn /);
    const [, example = ''] =
      new RegExp(`^Example: wattn ${name} (.+)$`, 'm').exec(help) ?? /^Example: wattn (\w+)$/m.exec(help) ?? [];
    const words = [...example.matchAll(/"([^"]*)"|(\S+)/g)].map(([, quoted, plain]) => quoted ?? plain!);
    expect(words.length).toBeGreaterThan(0);
    expect(wattn(name, ...words, '--help')).toEqual({ status: 0, stdout: help, stderr: '' }); // options are read first
    const shared = help.indexOf('\nThe model:\n');
    const options = [...help.matchAll(/^ {2}--([\w-]+)/gm)].map(({ 1: option, index }) => [option, index!] as const);
    expect(options.map(([option]) => option)).toEqual([...new Set(options.map(([option]) => option))]);
    const isShared = (option: string) => ['model', 'revision', 'local-files-only', 'cache-dir', 'progress', 'adapter', 'prefer', 'threads'].includes(option); // prettier-ignore
    if (shared >= 0) for (const [option, index] of options) expect([option, isShared(option!) === index > shared || ['dtype', 'precision'].includes(option!)]).toEqual([option, true]); // prettier-ignore
  });
});
