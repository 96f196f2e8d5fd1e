// The linter of the documents (tools/lib/prose_rules.mjs) finds what it is for, and lets pass what is fine.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { root } from './support.js';

type Problem = { line: number; rule: string; message: string; sentence: string };
let problemsIn: (text: string) => Problem[];
beforeAll(async () => ({ problemsIn } = await import(join(root, 'tools/lib/prose_rules.mjs'))));
const rulesOf = (text: string) => problemsIn(text).map(({ line, rule }) => `${line} ${rule}`);

const words = (count: number) => Array.from({ length: count }, () => 'word').join(' ');

describe('the prose linter', () => {
  it('counts the words of a sentence', () => {
    expect(rulesOf(`It ${words(29)}.`)).toEqual([]);
    expect(rulesOf(`One.\n\nIt ${words(30)}.`)).toEqual(['3 long sentence']);
    expect(rulesOf(`It ${words(20)}. It ${words(20)}.`)).toEqual([]);
    expect(rulesOf(`It ${words(20)}; it ${words(20)}.`)).toEqual(['1 long sentence']);
  });

  it('knows where a sentence ends, whatever the next one begins with', () => {
    expect(rulesOf(`It ${words(20)}. wattn ${words(20)}.`)).toEqual([]);
    expect(rulesOf(`It ${words(20)}. \`code\` ${words(20)}.`)).toEqual([]);
    expect(rulesOf(`It ${words(20)} of 8. Then ${words(20)}.`)).toEqual([]);
    expect(rulesOf(`It ${words(20)} etc. and ${words(20)}.`)).toEqual(['1 long sentence']);
    expect(rulesOf(`It ${words(20)} node.js ${words(20)}.`)).toEqual(['1 long sentence']);
  });

  it('reads list items, table cells and headings one by one, and no code', () => {
    expect(rulesOf(`- ${words(20)}\n- ${words(20)}`)).toEqual([]);
    expect(rulesOf(`| a | b |\n|---|---|\n| ${words(20)} | ${words(20)} |\n| x | ${words(31)} |`)).toEqual(['4 long sentence']);
    expect(rulesOf(`\`\`\`\n${words(50)}\n\`\`\``)).toEqual([]);
    expect(rulesOf(`It is \`${words(40)}\`.`)).toEqual([]);
  });

  it('lets a list of names be long', () => {
    const names = Array.from({ length: 40 }, (_, i) => `Name${i}`).join(', ');
    expect(rulesOf(`It reads ${names}.`)).toEqual([]);
    expect(rulesOf(`It reads ${Array.from({ length: 8 }, () => words(5)).join(', ')}.`)).toEqual(['1 long sentence']);
  });

  it('finds chains of "of"', () => {
    expect(rulesOf('The name of the state of the cache of a model is kept.')).toEqual(['1 chain of "of"']);
    expect(rulesOf('The name of the state of a model is kept.')).toEqual([]);
    expect(rulesOf('One of them, the state of a cache, is part of it.')).toEqual([]);
    expect(rulesOf('It reads files of models, of adapters, of indexes.')).toEqual([]); // a list, not a chain
  });

  it('finds phrases that have a better wording, and not in code or as parts of words', () => {
    const [found] = problemsIn('We do this in order to win.');
    expect(found).toMatchObject({ rule: 'phrase', message: '"in order to": write "to"' });
    expect(rulesOf('It **utilizes** memory.')).toEqual(['1 phrase']);
    expect(rulesOf('The option `in order to` and reutilizes.')).toEqual([]);
  });
});

it('CHANGELOG has one line an entry, under Added, Changed and Fixed', () => {
  const lines = readFileSync(join(root, 'CHANGELOG.md'), 'utf8').split('\n');
  const versions = lines.filter((line) => line.startsWith('## '));
  expect(versions[0]).toBe('## Unreleased');
  expect(versions).toContain(`## ${JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')).version}`);
  const parts = lines.filter((line) => line.startsWith('### '));
  expect(parts.filter((part) => !['### Added', '### Changed', '### Fixed'].includes(part))).toEqual([]);
  const begin = lines.indexOf('## Unreleased');
  // Groups of "Added" have a line that names them.
  const odd = lines
    .slice(begin)
    .filter((line) => !/^(|- [a-z_-]+: .{10,180}[.)]|#{2,3} .+|[A-Z][\w, ]{3,40}|The first version\..+)$/.test(line));
  expect(odd).toEqual([]);
});
