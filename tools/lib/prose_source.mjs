// Finds the English in source files: comments, error messages, the command line's help, and the demo's texts. A passage is { line, text, comment
// }; `text` has an empty line between paragraphs, and a ` in place of what is code.
import { parse } from '@babel/parser';

const kCode = ' ` ';

const lineOf = (text, at) => {
  let line = 1;
  for (let i = text.indexOf('\n'); i >= 0 && i < at; i = text.indexOf('\n', i + 1)) ++line;
  return line;
};

/** Code within a comment: examples, links, and what tools read. */
const kNoProse = /^(?:eslint|prettier|@ts-|clang-format|NOLINT|c8 |istanbul|#region|SPDX|esbuild|\/ <reference|@__)/;

function proseOfBlock(text) {
  return text
    .split('\n')
    .map((line) => line.replace(/^\s*\*?\s?/, ''))
    .join('\n')
    .replace(/```[\s\S]*?```/g, '')
    .replace(/@example[\s\S]*?(?=\n@|$)/g, '\n\n')
    .replace(/\{@link [^}]*\}/g, kCode)
    .replace(/^@(?:param|property|typeParam)\s+\S+(?:\s+-)?/gm, '\n\n')
    .replace(/^@\w+/gm, '\n\n')
    .replace(/^\s*(?:[-*]|\d+\.)\s/gm, '\n\n');
}

/** A list, or a line of code that is set in: a paragraph of its own. */
const isSeparate = (line) => /^\s*(?:[-*]|\d+\.)\s|^\s{3,}/.test(line);

/** Passages of comments, { line, column, text, block, alone }: those of one line each that follow each other, one below the other, are one. */
function passagesOfComments(comments) {
  const passages = [];
  let last;
  for (const { line, column, text, block, alone } of comments) {
    if (!block && alone && last?.line === line - 1 && last.column === column) {
      last.passage.text += (isSeparate(text) || isSeparate(last.text) ? '\n\n' : '\n') + text;
      last = { ...last, line, text };
      continue;
    }
    const passage = { line, text: block ? proseOfBlock(text) : text, comment: true };
    passages.push(passage);
    last = block ? undefined : { line, column, text, passage };
  }
  return passages
    .map((passage) => ({ ...passage, text: passage.text.trim() }))
    .filter(({ text }) => /\p{L}{2}/u.test(text) && !kNoProse.test(text));
}

const kCppPart = /\/\/([^\n]*)|\/\*([\s\S]*?)\*\/|R"(\w*)\([\s\S]*?\)\3"|"(?:\\.|[^"\\\n])*"|(?<!\w)'(?:\\.|[^'\\\n])+'/g;

/** Comments and the ranges of strings. */
function partsOfCpp(text) {
  const comments = [];
  const strings = [];
  let line = 1;
  let at = 0;
  for (const { 0: part, 1: single, 2: block, index } of text.matchAll(kCppPart)) {
    for (; at < index; ++at) if (text[at] === '\n') ++line;
    if (single === undefined && block === undefined) {
      strings.push([index, index + part.length]);
      continue;
    }
    const before = text.slice(text.lastIndexOf('\n', index) + 1, index);
    const said = (single ?? block).replace(/^[/*]<?/, '');
    comments.push({ line, column: before.length, text: said, block: block !== undefined, alone: before.trim() === '' });
  }
  return { comments, strings };
}

/** Literals of an expression as one text: what stands between them is code. */
function joined(text, ranges) {
  let out = '';
  let at = 0;
  for (const [begin, end] of ranges) {
    out += (/[^\s+]/.test(text.slice(at, begin)) ? kCode : '') + text.slice(begin + 1, end - 1);
    at = end;
  }
  return (out + (/[^\s+]/.test(text.slice(at)) ? kCode : '')).replace(/\\[nt]/g, ' ').replace(/\\(.)/g, '$1');
}

/** Where a call that begins there ends. */
function endOfCall(text, strings, begin) {
  let next = strings.findIndex(([from]) => from >= begin);
  for (let at = begin, depth = 1; at < text.length; ++at) {
    if (next >= 0 && strings[next]?.[0] === at) at = strings[next++][1];
    depth += { '(': 1, ')': -1 }[text[at]] ?? 0;
    if (depth === 0) return at;
  }
  return text.length;
}

function errorsOfCpp(text, strings) {
  const passages = [];
  for (const { index, 0: call } of text.matchAll(/\b(?:\w+_error|error)\(/g)) {
    const begin = index + call.length;
    const end = endOfCall(text, strings, begin);
    const inside = strings.filter(([from, to]) => from >= begin && to <= end).map(([from, to]) => [from - begin, to - begin]);
    const message = joined(text.slice(begin, end), inside);
    if (isSaid(message)) passages.push({ line: lineOf(text, index), text: message });
  }
  return passages;
}

/** Comments and messages of errors. */
export function passagesOfCpp(text) {
  const { comments, strings } = partsOfCpp(text);
  return [...passagesOfComments(comments), ...errorsOfCpp(text, strings)];
}

/** The text that an expression makes; what it computes is code. */
function textOfExpression(node) {
  if (node.type === 'StringLiteral') return node.value;
  if (node.type === 'TemplateLiteral') return node.quasis.map(({ value }) => value.cooked).join(kCode);
  if (node.type === 'BinaryExpression' && node.operator === '+') return textOfExpression(node.left) + textOfExpression(node.right);
  if (node.type === 'ParenthesizedExpression') return textOfExpression(node.expression);
  return kCode;
}

const kInline = new Set('a b em strong code i q span kbd abbr small sup sub var output'.split(' '));
const isElement = ({ type }) => type === 'JSXElement' || type === 'JSXFragment';
const tagOf = (node) => (node.type === 'JSXElement' ? (node.openingElement.name.name ?? '') : '');
const isInline = (node) => kInline.has(tagOf(node));

/** What an element shows, with its inline elements. */
function textOfElement(node) {
  return node.children
    .map((child) => {
      if (child.type === 'JSXText') return child.value.replace(/\s+/g, ' ');
      if (child.type === 'JSXExpressionContainer') return textOfExpression(child.expression);
      if (tagOf(child) === 'code') return kCode;
      return isInline(child) ? textOfElement(child) : '\n\n';
    })
    .join('');
}

const isSaid = (text) => /\p{L} \p{L}/u.test(text);
/** Words enough for a sentence; a list of words has neither capitals nor marks. */
const isShown = (text) => (text.match(/\p{L}{2,}/gu) ?? []).length >= 4 && isSaid(text) && /[\p{Lu}.,:;?!]/u.test(text);
const isError = ({ type, callee }) => type === 'NewExpression' && /Error$/.test(callee.name ?? '');
const isText = ({ type }) => type === 'StringLiteral' || type === 'TemplateLiteral';

/** The terms and options of a help text stand before two spaces or more; only what they mean is prose. */
const proseOfHelp = (text) =>
  text
    .split('\n')
    .map((line) => line.replace(/^ {0,8}\S.*?\s{2,}(?=\S)|^ {1,8}(?=-)/, '\n\n'))
    .join('\n');

/** Texts of a node and of all in it: messages of errors, and where everything is shown, all texts of some words. */
function* textsOf(node, shows) {
  if (isError(node) && node.arguments.length > 0) {
    const message = textOfExpression(node.arguments[0]);
    if (isSaid(message)) yield { node, text: message };
    return;
  }
  if (shows && isText(node)) {
    if (isShown(textOfExpression(node))) yield { node, text: textOfExpression(node) };
    return;
  }
  if (shows && isElement(node) && !isInline(node) && isShown(textOfElement(node))) yield { node, text: textOfElement(node) };
  if (/^Import|^Export(?:All|Named)/.test(node.type) && node.source) return;
  for (const value of Object.values(node)) {
    for (const child of Array.isArray(value) ? value : [value]) if (child?.type && child.loc) yield* textsOf(child, shows);
  }
}

/** Comments, messages of errors and, of files that show all their texts ('help' or 'demo'), texts of four words and more. */
export function passagesOfJs(name, text, shows) {
  const plugins = [...(/tsx?$/.test(name) ? ['typescript'] : []), ...(name.endsWith('x') ? ['jsx'] : [])];
  const { program, comments } = parse(text, { sourceType: 'module', plugins, errorRecovery: true, attachComment: false });
  const lines = text.split('\n');
  const said = comments.map(({ type, value, loc: { start } }) => ({
    line: start.line,
    column: start.column,
    text: value.replace(/^[/*]<?/, ''),
    block: type === 'CommentBlock',
    alone: lines[start.line - 1].slice(0, start.column).trim() === '',
  }));
  const texts = [...textsOf(program, shows)].map(({ node, text }) => ({
    line: node.loc.start.line,
    text: shows === 'help' ? proseOfHelp(text) : text,
  }));
  return [...passagesOfComments(said), ...texts];
}
