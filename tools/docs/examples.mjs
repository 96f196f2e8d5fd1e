// The examples of README and the guides, as the site runs them and tests/web/guides.test.ts and tools/check_package.mjs check them.
// A block of js continues the ones before it on its page: it may use their names, and may use a name again for something else. A block
// `js no-page` needs what a page of the documentation does not have, such as files of your own; `js sketch` is only to be read.
import { parse } from 'acorn';

export { moduleOf, withResults } from './site/program.js';

/** The guides, which are docs/NAME.md, by what readers want to do, and in this order. */
export const kGroups = {
  'Get started': ['start', 'choose', 'phone', 'ship', 'safe', 'limits'],
  'In your application': ['pages', 'frameworks', 'edge', 'integrations', 'loading', 'models', 'gpu', 'errors', 'wrong'],
  Tasks: ['tasks', 'tokenizers', 'entities', 'redaction', 'evaluation'],
  Search: ['search', 'site_search', 'retrieval', 'static'],
  'Writing texts': ['generation', 'structured', 'tools'],
  'Training and packing': ['training', 'adapters', 'packing'],
  'Command line and servers': ['cli', 'serve', 'scale'],
  'Inside a model': ['inside', 'nn', 'lessons', 'teaching'],
  'From another library': ['migration'],
};

export const kOrder = Object.values(kGroups).flat();

/** Names at a pattern's leaves. */
const namesIn = (pattern) =>
  ({
    Identifier: () => [pattern.name],
    ObjectPattern: () => pattern.properties.flatMap((one) => namesIn(one.value ?? one.argument)),
    ArrayPattern: () => pattern.elements.flatMap((one) => (one ? namesIn(one) : [])),
    AssignmentPattern: () => namesIn(pattern.left),
    RestElement: () => namesIn(pattern.argument),
  })[pattern.type]();

/** What a program declares for what follows it. */
const declared = (program) =>
  program.body.flatMap((each) => {
    if (each.type === 'ImportDeclaration') return each.specifiers.map(({ local }) => local.name);
    if (each.type === 'VariableDeclaration') return each.declarations.flatMap(({ id }) => namesIn(id));
    return each.id ? [each.id.name] : [];
  });

/** The names of variables that a program may read: members and keys are left out. */
function* namesOf(node) {
  if (Array.isArray(node)) for (const one of node) yield* namesOf(one);
  if (!node?.type) return;
  if (node.type === 'Identifier') yield node.name;
  const plain = !node.computed && ((node.type === 'Property' && 'key') || (node.type === 'MemberExpression' && 'property'));
  for (const [name, value] of Object.entries(node)) if (name !== plain && typeof value === 'object') yield* namesOf(value);
}

/**
 * The js blocks of a Markdown text, in order: `code`, whether it `runs` and has a `page` to run in, and `needs`, the earlier blocks that
 * declare what it uses.
 */
export function blocksOf(markdown) {
  const blocks = [];
  for (const [, info = '', code] of markdown.matchAll(/^```js( .*)?\n([\s\S]*?)^```/gm)) {
    const program = parse(code, { ecmaVersion: 'latest', sourceType: 'module', allowAwaitOutsideFunction: true });
    const own = declared(program);
    const needs = new Set();
    for (const name of [...new Set(namesOf(program))].filter((one) => !own.includes(one))) {
      const at = blocks.findLastIndex((block) => block.declares.includes(name));
      for (const one of at < 0 ? [] : [...blocks[at].needs, at]) needs.add(one);
    }
    blocks.push({ code, page: info === '', runs: info !== ' sketch', needs: [...needs].sort((a, b) => a - b), declares: own });
  }
  return blocks;
}

/** Folders that examples name, and the tiny models and adapters of tests/goldens that stand there. */
export const kFolders = {
  'models/bert': 'bert-tiny/model',
  'adapters/classes': 'peft/bert-classes',
  'adapters/topics': 'peft/bert-topics',
  'adapters/embeddings': 'peft/bert',
  gliner: 'spans/bert',
  'gliner-bi': 'spans_bi/modernbert',
  gliner2: 'schemas/bert',
  gliclass: 'labels/deberta',
};
