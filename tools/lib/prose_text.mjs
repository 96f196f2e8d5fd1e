// Finds the sentences of plain text, such as a comment or a message, and their problems. Much faster than a parser for English.
import { problemsOf } from './prose_rules.mjs';

const kAbbreviation = /^(?:etc|vs|cf|al|resp|approx|e\.g|i\.e|[A-Z])\.$/;
const kEnds = /(?:^|[^.])[.!?]["'”’)\]]*$/; // ".." leaves something out
/** What is looked up, not read: formulas, names of code, paths, numbers. */
const kCode = /[_`{}[\]=<>*|&^~#@$\\]|[a-z][A-Z]|\w\/\w|\w\(|\w\.\w|^-+\w|::|^\d|^[^aAI]$/;

/** A chunk between spaces as words and marks. */
function* partsOf(chunk) {
  const [, before, core, after] = /^([^\p{L}\p{N}`]*)(.*?)([^\p{L}\p{N}`]*)$/su.exec(chunk);
  for (const mark of before) yield { mark };
  if (core !== '') yield kCode.test(core) ? { word: '`', code: true } : { word: core };
  for (const mark of after) yield { mark };
}

function sentenceOf(chunks) {
  const words = [];
  let afterCode = false;
  for (const chunk of chunks) {
    for (const part of partsOf(chunk)) {
      if (!(part.code && afterCode)) words.push(part);
      if (part.word !== undefined) afterCode = part.code === true;
    }
  }
  return { words, prose: words.map(({ word, mark }) => word ?? mark).join(' '), text: chunks.join(' ') };
}

/** The sentences of a paragraph: { words, prose, text }. */
export function sentencesOf(paragraph) {
  const sentences = [[]];
  // Code and shapes are one chunk each.
  const chunks = paragraph.match(/[("'“]*(?:`[^`]*`|\[[^\]\n]*\])[^\s]*|\S+/g) ?? [];
  for (const chunk of chunks) {
    sentences.at(-1).push(chunk);
    if (kEnds.test(chunk) && !kAbbreviation.test(chunk)) sentences.push([]);
  }
  return sentences.filter((each) => each.length > 0).map(sentenceOf);
}

/** All problems of passages, { line, text, comment }: a passage is one or some paragraphs, with an empty line between them. */
export function problemsInPassages(passages) {
  const found = [];
  for (const { line, text, comment } of passages) {
    if (comment && /^Of\s/.test(text)) {
      found.push({ line, rule: 'begins with "Of"', message: 'name what it is about first', sentence: text.slice(0, 80) });
    }
    for (const paragraph of text.split(/\n\s*\n/)) {
      for (const sentence of sentencesOf(paragraph)) {
        for (const problem of problemsOf(sentence)) found.push({ line, ...problem, sentence: sentence.text });
      }
    }
  }
  return found;
}
