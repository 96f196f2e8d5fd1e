// Writes web/host/wire.ts, the types of what crosses to WebAssembly, out of src/core/wire.def. With --check it only says whether the file is
// as it would write it.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { format, resolveConfig } from 'prettier';
import { fail, root } from './lib/shell.mjs';

const kArguments = {
  flag: ['boolean', 'n'],
  number: ['number', 'n'],
  text: ['string', 's'],
  bytes: ['Uint8Array', 'b'],
  ints: ['ArrayLike<number>', 'i'],
  floats: ['ArrayLike<number>', 'f'],
  texts: ['readonly string[]', 't'],
  words: ['readonly string[]', 'w'],
  files: ['readonly (readonly [name: string, bytes: Uint8Array])[]', 'l'],
  lists_of_ints: ['readonly ArrayLike<number>[]', 'I'],
  lists_of_floats: ['readonly ArrayLike<number>[]', 'F'],
};
const kOptions = 'o';
const kFields = {
  number: 'number',
  flag: 'boolean',
  text: 'string',
  words: 'string[]',
  bytes: 'Uint8Array',
  ints: 'Int32Array',
  floats: 'Float32Array',
  doubles: 'Float64Array',
  lists_of_bytes: 'Uint8Array[]',
  lists_of_ints: 'Int32Array[]',
  lists_of_floats: 'Float32Array[]',
};

const out = [
  '// Types of what crosses to WebAssembly. tools/wire.mjs writes this file out of src/core/wire.def.',
  '',
  '/** Every call returns { code, message }. The other fields are there if code is 0. */',
  'export interface Answer {\n  code: number;\n  message: string;\n}',
];
const calls = { Model: [], Tokenizer: [], Training: [] };
const kHandles = { MODEL: 'Model', FULL_MODEL: 'Model', TOKENIZER: 'Tokenizer', TRAINING: 'Training' };
const methods = { Model: [], FullModel: [], Tokenizer: [], Training: [] };

let comment = [];
let block; // the lines of an open block
const documented = (text, indent = '') => (text ? `${indent}/** ${text} */\n` : '');

/** An argument: its kind and its name. */
function readArgument(argument) {
  const [, kind, maybe, name] = /^(\w+)(\??) (\w+)$/.exec(argument);
  const [type, code] = kArguments[kind] ?? [`Seam${kind}`, kOptions];
  return { code, text: `${name}: ${type}${maybe ? ' | null' : ''}` };
}

for (const line of readFileSync(join(root, 'src/core/wire.def'), 'utf8').split('\n')) {
  const [, said] = /^\/\/ (.*)$/.exec(line) ?? [];
  if (said !== undefined) {
    comment.push(said);
    continue;
  }
  const [, macro, inside, , behind] = /^WIRE_(\w+?)(?:\((.*?)\))?(\s+\/\/ (.*))?$/.exec(line) ?? [];
  const above = comment.join(' ');
  comment = [];
  if (macro === undefined) continue;
  const [name, second] = (inside ?? '').split(/, /);
  const call = /^(.*)_CALL$/.exec(macro)?.[1];
  if (call) {
    const handle = kHandles[call];
    const args = inside.split(', ').slice(2).map(readArgument);
    calls[handle].push([name, args.map(({ code }) => code).join('')].join(' ').trim());
    const list = args.map(({ text }) => text).join(', ');
    methods[call === 'FULL_MODEL' ? 'FullModel' : handle].push(`${documented(behind)}${name}(${list}): ${second};`);
  } else if (macro === 'ENUM') {
    block = { name, head: `${documented(above)}export type ${name} =`, words: [] };
  } else if (macro === 'WORD') {
    block.words.push(`'${second.slice(1, -1)}'`);
  } else if (macro === 'ENUM_END') {
    out.push(`${block.head} ${block.words.join(' | ')};`);
    out.push(`export const k${block.name}Words = [${block.words.join(', ')}] as const;`);
  } else if (macro === 'OPTIONS' || macro === 'ANSWER') {
    const head = macro === 'OPTIONS' ? `Seam${name}` : `${name} extends ${second}`;
    block = { head: `${documented(above)}export interface ${head} {`, lines: [] };
  } else if (macro === 'OPTION' || macro === 'MUST') {
    const member = macro === 'MUST' ? `${name}: ${second}` : `${name}?: ${second} | undefined`;
    block.lines.push(`${documented(behind)}${member};`);
  } else if (macro === 'FIELD' || macro === 'MAYBE') {
    block.lines.push(`${documented(behind)}${name}${macro === 'MAYBE' ? '?' : ''}: ${kFields[second] ?? second};`);
  } else if (macro === 'OPTIONS_END' || macro === 'ANSWER_END') {
    out.push(`${block.head}\n${block.lines.join('\n')}\n}`);
  } else if (macro === 'FLAGS') {
    block = { head: `${documented(above)}export const ${name} = {`, lines: [] };
  } else if (macro === 'FLAG') {
    block.lines.push(`${documented(behind)}${name}: ${second},`);
  } else if (macro === 'FLAGS_END') {
    out.push(`${block.head}\n${block.lines.join('\n')}\n} as const;`);
  } else {
    fail(`src/core/wire.def: unknown macro in '${line}'`);
  }
}

const kAbout = {
  Model: 'Calls of a model. In this order: begin; begin_weight_file and push for each weight file; finish; then any other.',
  FullModel: 'Those that only the full WebAssembly has.',
  Tokenizer: 'A tokenizer without a model.',
  Training: 'A tokenizer that is trained: load; feed any number of times; step until there is no more; result.',
};
for (const [handle, lines] of Object.entries(methods)) {
  out.push(`/** ${kAbout[handle]} */\nexport interface ${handle}Calls {\n${lines.join('\n')}\n}`);
}
out.push(
  `/** The calls of each handle, in their order in C++, each with the kinds of its arguments: see kWrite in wire_calls.ts. */
export const kCalls = {\n${Object.entries(calls)
    .map(([handle, list]) => `${handle}: '${list.join(',')}'`)
    .join(',\n')}\n} as const;`,
);

const path = join(root, 'web/host/wire.ts');
const text = await format(out.join('\n\n'), { ...(await resolveConfig(path)), parser: 'typescript' });
if (!process.argv.includes('--check')) writeFileSync(path, text);
else if (readFileSync(path, 'utf8') !== text) fail('web/host/wire.ts is not what src/core/wire.def says: run node tools/wire.mjs');
