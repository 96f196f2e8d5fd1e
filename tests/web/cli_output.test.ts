// Targets of --out and standard output: files, links, devices, pipes, full disks. Also signals, and errors, which are always one line.
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, closeSync, existsSync, lstatSync, mkdirSync, mkdtempSync, openSync, readFileSync, readdirSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs'; // prettier-ignore
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { cli, wattn, type Said } from './cli_support.js';
import { begun, finished, onSignal } from '../../web/cli/signals.js';
import { root, tiny, until } from './support.js';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'wattn-output-'));
  mkdirSync(path('docs'));
  writeFileSync(path('docs/a.txt'), 'The old boat waits below the bridge.');
  writeFileSync(path('lines.txt'), 'the old boat\nsmall birds sing\n');
});
afterEach(() => rmSync(folder, { recursive: true }));

const path = (name: string) => join(folder, name);
const parts = () => readdirSync(folder).filter((name) => name.endsWith('.part'));

/** Commands that write one file. */
const kWriters: Record<string, (out: string) => string[]> = {
  pack: (out) => ['pack', '--model', tiny, '--out', out],
  tokenize: (out) => ['tokenize', '--train', 'word', '--out', out, '--min-frequency', '1', path('lines.txt')],
  index: (out) => ['index', path('docs'), '--words', '--out', out],
};

/** A device of this kind, of our own. undefined: it may not be made here. */
function device(name: string, minor: number): string | undefined {
  try {
    execFileSync('mknod', [path(name), 'c', '1', String(minor)], { stdio: 'ignore' });
    closeSync(openSync(path(name), 'w'));
    return path(name);
  } catch {
    console.warn('skipped: devices cannot be made here (mknod needs root)');
    return undefined;
  }
}

/** Runs with standard output going to a file that is open. */
async function into(stdout: number, args: string[]): Promise<Said> {
  const child = spawn(process.execPath, [cli, ...args], { cwd: root, stdio: ['ignore', stdout, 'pipe'] });
  const said: Said = { code: -1, out: '', error: '' };
  child.stderr?.setEncoding('utf8').on('data', (text) => (said.error += text));
  [said.code] = await once(child, 'close');
  return said;
}

const oneLine = (said: Said, text: RegExp) => {
  expect(said.error).toMatch(/^wattn: [^\n]+\n$/);
  expect(said.error).not.toMatch(/\bat .*:\d+:\d+/);
  expect(said.error).toMatch(text);
};

describe.each(Object.entries(kWriters))('--out of %s', (_, args) => {
  it('replaces a file behind a link, and writes through to pipes and devices', async () => {
    expect((await wattn(args(path('plain')))).code).toBe(0);
    const expected = readFileSync(path('plain'));
    writeFileSync(path('target'), '');
    chmodSync(path('target'), 0o600);
    mkdirSync(path('far'));
    symlinkSync('../target', path('far/link'));
    expect(await wattn(args(path('far/link')))).toMatchObject({ code: 0, error: '' });
    expect(lstatSync(path('far/link')).isSymbolicLink()).toBe(true);
    expect(readFileSync(path('target')).equals(expected)).toBe(true);
    expect(statSync(path('target')).mode & 0o777).toBe(0o600);
    execFileSync('mkfifo', [path('pipe')]);
    const reader = spawn('cat', [path('pipe')]);
    const read: Buffer[] = [];
    reader.stdout.on('data', (chunk) => read.push(chunk));
    const closed = once(reader, 'close');
    expect((await wattn(args(path('pipe')))).code).toBe(0);
    await closed;
    expect(Buffer.concat(read).equals(expected)).toBe(true);
    expect(lstatSync(path('pipe')).isFIFO()).toBe(true);
    const nothing = device('null', 3);
    if (nothing) {
      expect((await wattn(args(nothing))).code).toBe(0);
      expect(lstatSync(nothing).isCharacterDevice()).toBe(true);
    }
    expect(parts()).toEqual([]);
  });
});

describe('--out', () => {
  const args = kWriters['pack']!;

  it('makes the file that a link leads to', async () => {
    symlinkSync('docs/new', path('dangling'));
    expect((await wattn(args(path('dangling')))).code).toBe(0);
    expect(lstatSync(path('dangling')).isSymbolicLink()).toBe(true);
    expect(statSync(path('docs/new')).size).toBeGreaterThan(1000);
  });

  it('that is full is one line, and stays a device', async () => {
    const full = device('full', 7);
    if (!full) return;
    const said = await wattn(args(full));
    expect(said.code).toBe(2);
    oneLine(said, /^wattn: --out: cannot write .*full: ENOSPC$/m);
    expect(lstatSync(full).isCharacterDevice()).toBe(true);
  });

  it('is the file alone where it is standard output', async () => {
    expect((await wattn(args(path('plain')))).code).toBe(0);
    const out = openSync(path('redirected'), 'w');
    const said = await into(out, args('/dev/stdout'));
    closeSync(out);
    expect(said.code).toBe(0);
    expect(readFileSync(path('redirected')).equals(readFileSync(path('plain')))).toBe(true);
    expect(parts()).toEqual([]);
  });

  it('leaves what was there where it fails', async () => {
    for (const [out, code] of [
      ['docs', 'EISDIR'],
      ['none/x', 'ENOENT'],
      ['lines.txt/x', 'ENOTDIR'],
    ] as const) {
      const said = await wattn(args(path(out)));
      expect(said.code).toBe(2);
      oneLine(said, new RegExp(`--out: cannot write .*: ${code}$`, 'm'));
    }
    expect(readdirSync(folder).sort()).toEqual(['docs', 'lines.txt']);
  });
});

describe('signals', () => {
  it('find their handler while a file is begun and finished', () => {
    const changed: unknown[] = [];
    const note = (name: unknown) => changed.push(name);
    onSignal(() => {});
    try {
      process.on('removeListener', note);
      begun('a');
      begun('b');
      finished('a');
      finished('b');
      expect([changed, process.listenerCount('SIGINT')]).toEqual([[], 1]);
    } finally {
      onSignal(undefined);
      process.off('removeListener', note);
    }
    expect([changed, process.listenerCount('SIGINT')]).toEqual([['SIGHUP', 'SIGINT', 'SIGTERM'], 0]);
  });

  it.each(['SIGINT', 'SIGTERM'] as const)('%s in the middle of a file leaves the one that was there', async (signal) => {
    writeFileSync(path('model.gguf'), 'before');
    execFileSync('mkfifo', [path('corpus')]); // nobody writes into it: the command waits, its file is open
    const child = spawn(process.execPath, [
      cli,
      ...kWriters['pack']!(path('model.gguf')),
      '--vocab',
      '20',
      '--corpus',
      path('corpus'),
    ]);
    let error = '';
    child.stderr.setEncoding('utf8').on('data', (text) => (error += text));
    const ended = once(child, 'close');
    await until(() => parts().length > 0);
    child.kill(signal);
    expect(await ended).toEqual([null, signal]); // 130 and 143 in a shell
    expect(error).toBe('');
    expect(readFileSync(path('model.gguf'), 'utf8')).toBe('before');
    expect(parts()).toEqual([]);
  });
});

describe('standard output', () => {
  it('that its reader closes ends the command quietly', async () => {
    writeFileSync(path('many.txt'), 'the old boat\n'.repeat(20_000));
    const child = spawn('sh', [
      '-c',
      '"$0" "$@" | head -1',
      process.execPath,
      cli,
      'tokenize',
      '--model',
      tiny,
      '--file',
      path('many.txt'),
    ]);
    let [out, error] = ['', ''];
    child.stdout.setEncoding('utf8').on('data', (text) => (out += text));
    child.stderr.setEncoding('utf8').on('data', (text) => (error += text));
    expect(await once(child, 'close')).toEqual([0, null]);
    expect({ lines: out.split('\n').length, error }).toEqual({ lines: 2, error: '' });
  });

  it('that is full is one line', async () => {
    const full = device('full', 7);
    if (!full) return;
    for (const args of [['tokenize', '--model', tiny, 'a'], ['help'], ['inspect', '--model', tiny]]) {
      const out = openSync(full, 'w');
      const said = await into(out, args);
      closeSync(out);
      expect(said.code).toBe(2);
      oneLine(said, /^wattn: standard output: cannot write: ENOSPC$/m);
    }
  });
});

describe('errors', () => {
  it('a line that is longer than a text may be', async () => {
    const child = spawn(process.execPath, [cli, 'tokenize', '--model', tiny]);
    let error = '';
    child.stderr.setEncoding('utf8').on('data', (text) => (error += text));
    child.stdin.on('error', () => {});
    const ended = once(child, 'close');
    child.stdin.write('short\n');
    const piece = 'a'.repeat(1 << 20);
    while (child.exitCode === null && error === '') await new Promise<void>((done) => child.stdin.write(piece, () => done()));
    expect(await ended).toEqual([2, null]);
    expect(error).toBe('wattn: standard input, line 2: expected at most 67108864 characters, found more\n');
  });

  const folderOf = () => path('docs');
  const kBad: [name: string, args: () => string[], input?: string][] = [
    ['no command', () => ['nothing']],
    ['an unknown option', () => ['embed', '--nothing']],
    ['an option without its value', () => ['embed', '--model']],
    ['a folder as a model', () => ['embed', '--model', folderOf(), 'a']],
    ['a file as a model', () => ['embed', '--model', path('lines.txt'), 'a']],
    ['a folder as an adapter', () => ['embed', '--model', tiny, '--adapter', folderOf(), 'a']],
    ['a folder as texts', () => ['embed', '--model', tiny, '--file', folderOf()]],
    ['half of JSON', () => ['embed', '--model', tiny, '--input', 'json'], '{"text":'],
    ['JSON null', () => ['embed', '--model', tiny, '--input', 'json'], 'null'],
    ['JSON of 100,000 levels', () => ['embed', '--model', tiny, '--input', 'json'], `${'['.repeat(1e5)}${']'.repeat(1e5)}`],
    ['a text_pair that is none', () => ['classify', '--model', tiny], '{"text":"a","text_pair":7}'],
    ['no number', () => ['embed', '--threads', 'x', 'a']],
    ['options that are a list', () => ['run', '--task', 'ner', '--model', tiny, '--options', '[]', 'a']],
    ['an unknown option of the library', () => ['run', '--task', 'fill-mask', '--model', tiny, '--options', '{"x":1}', 'a']],
    ['a folder as a map', () => ['redact', '--patterns', 'email', '--map', folderOf(), 'a']],
    ['a map that is none', () => ['redact', '--patterns', 'email', '--map', path('lines.txt'), 'a']],
    [
      'a folder as rows',
      () => ['train', '--task', 'text-classification', '--model', tiny, '--data', folderOf(), '--out', path('o')],
    ],
    ['a corpus that is not there', () => [...kWriters['pack']!(path('m.gguf')), '--vocab', '20', '--corpus', path('none')]],
    ['a folder as a corpus', () => [...kWriters['pack']!(path('m.gguf')), '--vocab', '20', '--corpus', folderOf()]],
    ['a folder as an index', () => ['search', folderOf(), 'a', '--words']],
    ['another file as an index', () => ['search', path('lines.txt'), 'a', '--words']],
    ['a collection that is none', () => ['evaluate', '--task', 'retrieval', '--data', folderOf()]],
    ['a cache in a file', () => ['download', 'a/b', '--local-files-only', '--cache-dir', path('lines.txt')]],
  ];
  it('are one line on standard error and no stack, and nothing is left', async () => {
    const results: [string, Said][] = [];
    const waiting = kBad.slice();
    const runSome = async () => {
      for (let next = waiting.shift(); next; next = waiting.shift()) results.push([next[0], await wattn(next[1](), next[2] ?? '')]);
    };
    await Promise.all([runSome(), runSome(), runSome()]);
    for (const [name, said] of results) {
      expect({ name, code: said.code }).toEqual({ name, code: 2 });
      oneLine(said, /./);
    }
    expect(readdirSync(folder).filter((name) => !['docs', 'lines.txt', 'o'].includes(name))).toEqual([]);
    expect(existsSync(path('m.gguf'))).toBe(false);
  });
});
