// The interface of a fitted classifier: classify, explain, save.
import { describe, InputError } from '../../core/errors.js';
import { readOptions } from '../../core/options.js';
import { Breather } from '../../core/signal.js';
import type { Embedder, Examples, Explanation, TextClassifier } from '../classifier_types.js';
import { argmax, softmax, topIndices } from '../../core/scores.js';
import { takeTopK } from '../../engine/task.js';
import type { AbortSignalLike } from '../../core/types.js';
import { saveClassifier } from './files.js';
import { logitsOf, type Fitted } from './network.js';
import { embedAll } from './vectors.js';

// Words (letters, marks, numbers, with ', _ and - inside), or single punctuation characters. Bounded, as is an engine's stack for regular
// expressions: a longer word comes in pieces without anything between.
const kWords = /([\p{L}\p{M}\p{N}]{1,1000}(?:['’_-][\p{L}\p{M}\p{N}]{1,1000}){0,1000})|[^\s\p{L}\p{M}\p{N}]/gu;

function toWords(text: string): { word: string; start: number; end: number }[] {
  const words: { word: string; start: number; end: number }[] = [];
  let isWord = false;
  for (const { 0: found, 1: piece, index } of text.matchAll(kWords)) {
    const last = words.at(-1);
    const end = index + found.length;
    if (piece !== undefined && isWord && last?.end === index) [last.word, last.end] = [last.word + piece, end];
    else words.push({ word: found, start: index, end });
    isWord = piece !== undefined;
  }
  return words;
}

export function makeTextClassifier(embed: Embedder, fitted: Fitted): TextClassifier {
  const { labels, temperature, network, dim, embed_options, kind, C, report } = fitted;

  async function scores(where: string, texts: Examples, signal: AbortSignalLike | undefined): Promise<Float64Array[]> {
    const { data } = await embedAll(embed, texts, { where, embed_options, signal, dim });
    const breather = new Breather();
    const logits = await logitsOf(network, data, dim, () => breather.breathe(signal));
    return Array.from({ length: data.length / dim }, (_, i) =>
      softmax(logits.subarray(i * labels.length, (i + 1) * labels.length).map((z) => z / temperature)),
    );
  }

  async function classify(texts: string | Examples, options?: { top_k?: number | null; signal?: AbortSignalLike | undefined }) {
    options = readOptions('classifier', options, { top_k: 'any', signal: 'signal' });
    const top_k = takeTopK('classifier', options, 1);
    const rows = await scores('classifier', typeof texts === 'string' ? [texts] : texts, options?.signal ?? undefined);
    const lists = rows.map((row) => topIndices(row, top_k).map((i) => ({ label: labels[i] as string, score: row[i] as number })));
    return typeof texts === 'string' || top_k === 1 ? lists.flat() : lists;
  }

  async function explain(text: string, options?: { label?: string; signal?: AbortSignalLike | undefined }): Promise<Explanation> {
    options = readOptions('explain', options, { label: 'string', signal: 'signal' });
    if (typeof text !== 'string') throw new InputError(`explain: expected a string, found ${describe(text)}`);
    const words = toWords(text);
    const without = words.map(({ start, end }) => text.slice(0, start) + text.slice(end));
    const [whole, ...rest] = await scores('explain', [text, ...without], options?.signal ?? undefined);
    const wanted = options?.label;
    const label = wanted === undefined ? argmax(whole as Float64Array) : labels.indexOf(wanted);
    if (label < 0) throw new InputError(`explain: option 'label': expected one of ${labels.join(', ')}, found '${wanted}'`);
    const score = whole?.[label] as number;
    return {
      label: labels[label] as string,
      score,
      words: words.map((word, i) => ({ ...word, weight: score - (rest[i]?.[label] as number) })),
    };
  }

  const rest = { labels: Object.freeze([...labels]), kind, C, temperature, report, explain, save: () => saveClassifier(fitted) };
  return Object.assign(classify, rest) as unknown as TextClassifier;
}
