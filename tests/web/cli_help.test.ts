// The command line's help for tasks, completion in three shells, and progress.
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { kCommands } from '../../web/cli/commands.js';
import { kValues } from '../../web/cli/completion_values.js';
import { kTaskNames } from '../../web/cli/help_tasks.js';
import { counted, megabytes, Progress } from '../../web/cli/progress.js';
import { kDefaults } from '../../web/tasks/defaults.js';
import { wattn } from './cli_support.js';
import { tiny } from './support.js';

describe('wattn help TASK', () => {
  it('knows every task', () => {
    expect([...kTaskNames].sort()).toEqual(
      [...new Set([...Object.keys(kDefaults), 'feature-extraction', 'text-classification'])].sort(),
    );
  });

  it.each(kTaskNames)('%s: what it needs, an example that the command takes, and its options', async (task) => {
    const { code, out } = await wattn(['help', task]);
    expect([code, out]).toEqual([0, expect.stringMatching(new RegExp(`^Task: ${task}\n\n.+\n\n {2}Needs .+\n {2}Models .+`))]);
    const [, example = ''] = /^ {2}Example {2}wattn (.+)$/m.exec(out) ?? [];
    const words = [...example.matchAll(/"([^"]*)"|'([^']*)'|(\S+)/g)].map(([, one, two, three]) => one ?? two ?? three!);
    expect((await wattn([...words, '--help'])).out).toMatch(/^Usage: wattn /); // options are read first
    const [, command = ''] = /^Options of wattn (\w+) /m.exec(out) ?? [];
    expect(words[0]).toBe(command);
    const options = [...out.matchAll(/^ {2}--([\w-]+)/gm)].map(([, option]) => option!);
    expect(options.length).toBeGreaterThan(3);
    for (const option of options) expect(Object.keys(kCommands[command]!)).toContain(option);
  });

  it('takes other names of a task, and says what was meant', async () => {
    const [own, ner, summary] = await Promise.all(
      ['token-classification', 'ner', 'summarize'].map((name) => wattn(['help', name])),
    );
    expect(ner!.out).toBe(own!.out);
    expect(summary!.out).toMatch(/^Task: summarization\n/);
    const wrong = await wattn(['help', 'quesion-answering']);
    expect([wrong.code, wrong.error]).toEqual([2, expect.stringContaining("did you mean 'question-answering'?")]);
  });
});

/** Whether a shell is there. */
const has = (shell: string) => spawnSync(shell, ['-c', 'true']).status === 0;
const place = mkdtempSync(join(tmpdir(), 'wattn-completion-'));
afterAll(() => rmSync(place, { recursive: true }));

/** What each shell offers after a line, whose last word is not complete. */
const kShells: Record<string, (script: string, words: string[]) => string[]> = {
  bash: (script, words) => {
    const quoted = words.map((word) => `'${word}'`).join(' ');
    const program = `source '${script}'; COMP_WORDS=(${quoted}); COMP_CWORD=${words.length - 1}; _wattn; printf '%s\\n' "\${COMPREPLY[@]}"`;
    return spawnSync('bash', ['-c', program], { encoding: 'utf8' }).stdout.trim().split('\n');
  },
  zsh: (script, words) => {
    // The two functions of zsh's completion that the script calls; its system needs a terminal.
    const offer = `compadd() { shift; local one; for one in "$@"; do [[ $one == \${words[CURRENT]}* ]] && print -r -- $one; done }; _files() { }`;
    const quoted = words.map((word) => `'${word}'`).join(' ');
    const program = `${offer}; source '${script}'; words=(${quoted}); CURRENT=${words.length}; _wattn`;
    return spawnSync('zsh', ['-fc', program], { encoding: 'utf8' }).stdout.trim().split('\n');
  },
  fish: (script, words) => {
    const program = `source '${script}'; complete -C '${words.join(' ')}'`;
    const { stdout } = spawnSync('fish', ['--no-config', '-c', program], { encoding: 'utf8', cwd: place });
    return stdout
      .trim()
      .split('\n')
      .map((line) => line.split('\t')[0]!);
  },
};

describe.each(Object.keys(kShells))('wattn completion %s', (shell) => {
  const there = has(shell) ? it : it.skip;
  const script = join(place, `wattn.${shell}`);
  beforeAll(async () => writeFileSync(script, (await wattn(['completion', shell])).out));
  const offered = (...words: string[]) => kShells[shell]!(script, ['wattn', ...words]).sort();

  there('offers every command', () => {
    expect(offered('')).toEqual(expect.arrayContaining([...Object.keys(kCommands), 'help']));
    expect(offered('tok')).toEqual(['tokenize']);
  });

  there("offers a command's own options", () => {
    expect(offered('embed', '--')).toEqual(expect.arrayContaining(Object.keys(kCommands['embed']!).map((name) => `--${name}`)));
    expect(offered('embed', '--')).not.toContain('--query');
    expect(offered('rank', '--que')).toEqual(['--query']);
  });

  there('offers the values of options that have few, of the very command', () => {
    expect(offered('embed', '--dtype', '')).toEqual(['f16', 'f32', 'q16', 'q4', 'q8']);
    expect(offered('pack', '--dtype', 'n')).toEqual(['native']);
    expect(offered('evaluate', '--task', 's')).toEqual(['sts']);
    expect(offered('embed', 'text', '--precision', 'f')).toEqual(['fast']);
  });

  there('offers the words after cache, completion and help', () => {
    expect(offered('cache', 'd')).toEqual(['delete']);
    expect(offered('completion', '')).toEqual(expect.arrayContaining(['bash', 'fish', 'zsh']));
    expect(offered('help', 'question-')).toEqual(['question-answering']);
  });
});

describe('wattn completion', () => {
  it('knows the shells, and says so', async () => {
    for (const args of [[], ['tcsh'], ['bash', 'zsh']]) {
      const { code, error } = await wattn(['completion', ...args]);
      expect([code, error]).toEqual([2, expect.stringMatching(/expected a shell of bash, zsh, fish, found /)]);
    }
  });

  it('offers values that the commands name themselves', async () => {
    const needed: Record<string, string[]> = {
      evaluate: ['--data', 'none.tsv'],
      train: ['--data', 'none.jsonl', '--out', 'none'],
      distill: ['--out', join(place, 'none')],
      generate: ['--model', tiny],
      index: [place, '--out', join(place, 'none')],
      serve: ['--port', '0'],
    };
    writeFileSync(join(place, 'a.txt'), 'The bakery opens at six.');
    const asked = Object.entries(kValues).map(([name, values]) => {
      const [option, command = Object.keys(kCommands).find((one) => name in kCommands[one]!)!] = name.split(' ').reverse();
      return { option: option!, command, values: values.split(' ') };
    });
    const chosen = asked.filter(
      ({ option, command }) => option === 'task' && command !== 'embed' && command !== 'models' && command !== 'run',
    );
    expect(chosen.length).toBeGreaterThan(4);
    for (const { option, command, values } of chosen) {
      const { error } = await wattn([command, `--${option}`, 'nothing', ...(needed[command] ?? [])], '');
      const [, named = ''] = /expected (?:one of )?(.+), found 'nothing'/.exec(error) ?? [error];
      expect([command, option, named.split(/, | or /).sort()]).toEqual([command, option, [...values].sort()]);
    }
  });
});

describe('progress', () => {
  it('is a share, amounts, rate and time left', () => {
    let now = 0;
    const bar = new Progress({}, megabytes, false, () => now);
    expect(bar.text({ done: 0, total: 4e6, what: 'a.bin' })).toBe('a.bin: 0% 0.0 MB of 4.0 MB');
    now = 2000;
    expect(bar.text({ done: 1e6, total: 4e6, what: 'a.bin' })).toBe('a.bin: 25% 1.0 MB of 4.0 MB, 0.5 MB/s, 6 s left');
    expect(bar.text({ done: 4e6, total: 4e6 })).toBe('100% 4.0 MB of 4.0 MB, 2.0 MB/s');
    expect(bar.text({ done: 1e6, more: '7 texts' })).toBe('1.0 MB, 7 texts, 0.5 MB/s');
    now = 100_000;
    const texts = new Progress({}, counted('texts'), false, () => now);
    now += 40_000;
    expect(texts.text({ done: 100, total: 30_000 })).toBe('0% 100 texts of 30000 texts, 2.5 texts/s, 3 h 19 min left');
    expect(texts.text({ done: 0, total: 0 })).toBe('100% 0 texts of 0 texts');
  });

  it('is written in lines where there is no terminal and --progress asks for it, as files are answered', async () => {
    const file = join(place, 'lines.txt');
    writeFileSync(file, 'the old boat\n'.repeat(20_000));
    const { error, out } = await wattn(['tokenize', '--model', tiny, '--file', file, '--progress']);
    expect(out.match(/\n/g)).toHaveLength(20_000);
    const lines = error.split('\n').filter((line) => / texts, /.test(line));
    expect(lines.at(-1)).toMatch(/^100% 0\.3 MB of 0\.3 MB, \d+ texts, [\d.]+ MB\/s/);
    expect(lines.length).toBeGreaterThan(2);
    expect((await wattn(['tokenize', '--model', tiny, '--file', file])).error).toBe('');
  });
});
