// Finds the sentences of a Markdown document and their problems.
import { toNlcst } from 'mdast-util-to-nlcst';
import { ParseEnglish } from 'parse-english';
import remarkGfm from 'remark-gfm';
import remarkParse from 'remark-parse';
import { unified } from 'unified';
import { SKIP, visit } from 'unist-util-visit';
import { VFile } from 'vfile';
import { problemsOf } from './prose_rules.mjs';

const textOf = (node) => node.value ?? (node.children ?? []).map(textOf).join('');
const isWord = ({ type }) => type === 'WordNode' || type === 'SourceNode';

/** A sentence as its words and the marks between them: code counts as one word. */
function wordsOf(sentence) {
  const words = [];
  let afterCode = false;
  for (const node of sentence.children) {
    // A row of names in code is looked up, not read.
    if (isWord(node) && !(afterCode && node.type === 'SourceNode')) words.push({ word: textOf(node) });
    if (node.type !== 'WhiteSpaceNode') afterCode = node.type === 'SourceNode';
    if (node.type === 'PunctuationNode' || node.type === 'SymbolNode') words.push({ mark: node.value });
  }
  return words;
}

/** Code is no prose: a name may be what it is. */
const proseOf = (sentence) => sentence.children.map((node) => (node.type === 'SourceNode' ? '`' : textOf(node))).join('');

const kBlocks = ['paragraph', 'heading', 'tableCell', 'blockquote'];

/** The blocks of a document that hold sentences. mdast-util-to-nlcst leaves out tables, so a cell is made a paragraph. Quotations are left as they are. */
function blocksOf(text) {
  const blocks = [];
  visit(unified().use(remarkParse).use(remarkGfm).parse(text), kBlocks, ({ type, children, position }) => {
    if (type === 'blockquote') return SKIP;
    if (children.length > 0) blocks.push({ type: 'root', children: [{ type: 'paragraph', children, position }], position });
  });
  return blocks;
}

const kEnd = /^(?:[^.]{2,}|\d|s)?[.!?]$/; // a word with its full stop, or a mark alone; s: seconds
const kAbbreviation = /^(etc|vs|cf|al|resp|approx)\.$/;

/** The parser goes on where the next sentence begins with a small letter or with code, as names do: those are sentences, too. */
function sentencesOf({ children, position }) {
  const sentences = [[]];
  children.forEach((node, i) => {
    sentences.at(-1).push(node);
    const text = textOf(node);
    const ends = node.type !== 'SourceNode' && kEnd.test(text) && !kAbbreviation.test(text);
    if (ends && children[i + 1]?.type === 'WhiteSpaceNode') sentences.push([]);
  });
  return sentences
    .filter((nodes) => nodes.some(isWord))
    .map((nodes) => ({ children: nodes, line: (nodes.find(isWord).position ?? position)?.start.line }));
}

/** All problems of a Markdown text: { line, rule, message, sentence }. */
export function problemsInMarkdown(text) {
  const file = new VFile(text);
  const english = new ParseEnglish();
  const found = [];
  for (const block of blocksOf(text)) {
    visit(toNlcst(block, file, english), 'SentenceNode', (whole) => {
      for (const sentence of sentencesOf(whole)) {
        const line = sentence.line ?? block.position.start.line;
        for (const problem of problemsOf({ words: wordsOf(sentence), prose: proseOf(sentence) }))
          found.push({ line, ...problem, sentence: textOf(sentence).replace(/\s+/g, ' ').trim() });
      }
    });
  }
  return found;
}
