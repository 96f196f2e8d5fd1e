// The linter for documents, comments and messages (tools/prose.mjs) reports each problem, and accepts correct text.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { root } from './support.js';

type Problem = { line: number; rule: string; message: string; sentence: string };
type Passage = { line: number; text: string; comment?: boolean };
let problemsIn: (text: string) => Problem[];
let problemsInPassages: (passages: Passage[]) => Problem[];
let passagesOfCpp: (text: string) => Passage[];
let passagesOfJs: (name: string, text: string, shows?: string) => Passage[];
beforeAll(async () => {
  ({ problemsInMarkdown: problemsIn } = await import(join(root, 'tools/lib/prose_markdown.mjs')));
  ({ problemsInPassages } = await import(join(root, 'tools/lib/prose_text.mjs')));
  ({ passagesOfCpp, passagesOfJs } = await import(join(root, 'tools/lib/prose_source.mjs')));
});
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
    expect(rulesOf(`> ${words(40)}\n\n${words(40)}`)).toEqual(['3 long sentence']); // a quotation is not ours
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

describe('the prose linter in source', () => {
  const inCpp = (text: string) => problemsInPassages(passagesOfCpp(text)).map(({ line, rule }) => `${line} ${rule}`);
  const inTs = (text: string, name = 'a.ts', shows?: string) =>
    problemsInPassages(passagesOfJs(name, text, shows)).map(({ line, rule }) => `${line} ${rule}`);

  it('reads comments, over several lines too, and no strings', () => {
    for (const read of [inCpp, inTs]) {
      expect(read(`f();\n// ${words(16)}\n// ${words(16)}.\ng();`)).toEqual(['2 long sentence']);
      expect(read(`f(); // ${words(16)}\ng(); // ${words(16)}`)).toEqual([]);
      expect(read(`/**\n * One.\n *\n * ${words(31)}.\n */\nf();`)).toEqual(['1 long sentence']);
      expect(read(`// - ${words(16)}\n// - ${words(16)}`)).toEqual([]);
      expect(read(`f("// in order to ${words(31)}");`)).toEqual([]);
      expect(read('// Of a model: its name.')).toEqual(['1 begins with "Of"']);
      expect(read('// Done in order to win.')).toEqual(['1 phrase']);
      expect(read('// The name of the state of the cache of a model.')).toEqual(['1 chain of "of"']);
    }
  });

  it('takes formulas, names and examples for code', () => {
    expect(inTs(`// y = ${Array.from({ length: 40 }, (_, i) => `x_${i}`).join(' ')}`)).toEqual([]);
    expect(inTs(`/**\n * One.\n *\n * @example\n * ${words(40)}\n */`)).toEqual([]);
  });

  it('reads the messages of errors as one text', () => {
    expect(inTs(`throw new InputError(\`${words(16)} \${x} ${words(16)}\`);`)).toEqual(['1 long sentence']);
    expect(inTs(`throw new InputError('${words(16)} ' + x + ' ${words(16)}');`)).toEqual(['1 long sentence']);
    expect(inTs(`call('${words(40)}');`)).toEqual([]);
    expect(inCpp(`return input_error("${words(16)} " + to_string(f(x)) +\n  " ${words(16)}");`)).toEqual(['1 long sentence']);
    expect(inCpp(`log("${words(40)}");`)).toEqual([]);
  });

  it('reads all that the command line and the demo show', () => {
    expect(inTs(`const kHelp = \`\n  --a  ${words(16)}\n  --b  ${words(16)}.\n\`;`, 'help.ts', 'help')).toEqual([]);
    expect(inTs(`const kHelp = \`\n  --a  ${words(31)}.\n\`;`, 'help.ts', 'help')).toEqual(['1 long sentence']);
    expect(inTs(`const x = <p>${words(16)} <b>{n}</b> ${words(16)}.</p>;`, 'a.tsx', 'demo')).toEqual(['1 long sentence']);
    expect(inTs(`const x = <p title="${words(31)}.">a</p>;`, 'a.tsx', 'demo')).toEqual(['1 long sentence']);
    expect(inTs(`const x = <ul><li>${words(16)}.</li><li>${words(16)}</li></ul>;`, 'a.tsx', 'demo')).toEqual([]);
    expect(inTs(`const kStopWords = '${words(40)}';`, 'a.ts', 'demo')).toEqual([]);
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
