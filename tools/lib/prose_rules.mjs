// Rules for the English of the documents. Each takes the words of one sentence and says what is wrong.
import { toNlcst } from 'mdast-util-to-nlcst';
import { ParseEnglish } from 'parse-english';
import remarkGfm from 'remark-gfm';
import remarkParse from 'remark-parse';
import { unified } from 'unified';
import { visit } from 'unist-util-visit';
import { VFile } from 'vfile';

const kMostWords = 30;
const kLeastItems = 4; // of a list
const kShortItem = 3; // words, with "and"
const kListCounts = 4; // words
const kMostBetween = 4; // words between two "of" of a chain
const kChain = 3;

/** What to write instead. Each phrase is a regular expression over lower-case words. */
const kBanned = [
  ['in order to', 'to'],
  ['due to the fact that', 'because'],
  ['in case of', 'if'],
  ['at this point in time', 'now'],
  ['with regard to', 'about'],
  ['it is possible to', 'you can'],
  ['has the ability to', 'can'],
  ['make use of', 'use'],
  ['utili[sz]es?', 'use'],
  ['leverages?', 'use'],
  ['seamless(ly)?', 'say what happens'],
  ['please note( that)?', 'leave it out'],
  ['as they lie', 'unchanged'],
  ['of now', 'current, or at present'],
  ['what is learned', 'the parameters'],
  ['nobody needs to', 'it is optional'],
  ['goes? on (from )?where (it|they) (stopped|ended)', 'resumes'],
  ['goes? on from where (it|they) (broke off|stopped)', 'resumes'],
  ['what came of', 'the result of'],
  ['as far as they are', 'so far'],
  ['in silence', 'silently'],
  ['what was learned', 'what the model learned, or the weights'],
  ['asked for in vain', 'a failed request'],
  ['heals', 'is repaired'],
  ['of (the )?kind that', 'that'],
  ['stands? in for', 'replaces'],
].map(([words, better]) => ({ words: new RegExp(`(?<![\\w-])${words}(?![\\w-])`, 'i'), better }));

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

/** Numbers of words between commas. */
function partsOf(sentence) {
  const parts = [0];
  for (const { word, mark } of wordsOf(sentence)) {
    if (word !== undefined) parts[parts.length - 1] += 1;
    else if (mark === ',') parts.push(0);
  }
  return parts;
}

/** Words of a sentence; a list of short items, such as names, is read at a glance and counts as few. */
function lengthOf(sentence) {
  const parts = partsOf(sentence);
  let length = 0;
  for (let i = 0; i < parts.length;) {
    let end = i;
    while (end < parts.length && parts[end] <= kShortItem) ++end;
    const items = end - i;
    length += items >= kLeastItems ? kListCounts : parts.slice(i, Math.max(end, i + 1)).reduce((sum, words) => sum + words, 0);
    i = Math.max(end, i + 1);
  }
  return length;
}

function tooLong(sentence) {
  const count = lengthOf(sentence);
  return count > kMostWords ? `${count} words, more than ${kMostWords}: make two sentences of it` : undefined;
}

function chainOfOf(sentence) {
  let chain = 0;
  let between = 0;
  for (const { word, mark } of wordsOf(sentence)) {
    if (word?.toLowerCase() === 'of') {
      chain = between <= kMostBetween ? chain + 1 : 1;
      between = 0;
      if (chain >= kChain) return `"of" ${kChain} times in a row: name what it is`;
    } else if (mark !== undefined && /[,.;:()–—]/.test(mark)) chain = 0;
    else ++between;
  }
  return undefined;
}

/** Code is no prose: a name may be what it is. */
const proseOf = (sentence) => sentence.children.map((node) => (node.type === 'SourceNode' ? '`' : textOf(node))).join('');

function bannedPhrase(sentence) {
  const text = proseOf(sentence).replace(/\s+/g, ' ');
  const found = kBanned.find(({ words }) => words.test(text));
  return found && `"${found.words.exec(text)[0]}": write "${found.better}"`;
}

const kRules = { 'long sentence': tooLong, 'chain of "of"': chainOfOf, phrase: bannedPhrase };

/** The blocks of a document that hold sentences. mdast-util-to-nlcst leaves out tables, so a cell is made a paragraph. */
function blocksOf(text) {
  const blocks = [];
  visit(unified().use(remarkParse).use(remarkGfm).parse(text), ['paragraph', 'heading', 'tableCell'], ({ children, position }) => {
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
export function problemsIn(text) {
  const file = new VFile(text);
  const english = new ParseEnglish();
  const found = [];
  for (const block of blocksOf(text)) {
    visit(toNlcst(block, file, english), 'SentenceNode', (whole) => {
      for (const sentence of sentencesOf(whole)) {
        for (const [rule, check] of Object.entries(kRules)) {
          const message = check(sentence);
          const line = sentence.line ?? block.position.start.line;
          if (message) found.push({ line, rule, message, sentence: textOf(sentence).replace(/\s+/g, ' ').trim() });
        }
      }
    });
  }
  return found;
}
