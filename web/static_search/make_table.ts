// Makes the table of a site's words from its model: which pieces it has, and where they are.
import type { Breather } from '../core/signal.js';
import { makeRandom } from '../core/random.js';
import { concat } from '../core/texts.js';
import type { AbortSignalLike } from '../core/types.js';
import { trustIn } from '../search/trust.js';
import { moments } from '../search/ranking.js';
import type { FeatureExtractionPipeline } from '../tasks/embed_types.js';
import { along, fit, mainDirections, type FitText } from './fit.js';
import { Pieces, piecesOf } from './pieces.js';
import { Table } from './table.js';

/** The table's rows and their numbers: 448,000 bytes, and the pieces themselves. */
const kMostPieces = 7000;
const kDims = 64;
/** Texts that the model sees at most. Of a larger site, some stand for all. */
const kMostTexts = 3000;
const kMostSpans = 6000;
/** Texts of one call. */
const kPortion = 256;
/** Short pieces of texts, so that rows fit queries as well as whole texts; they count little. */
const kSpanWeight = 1 / 900;
const kSpanWords = 12;
/** Queries that say how cosines of the table and of the model compare. */
const kQueries = 150;
const kQueryTexts = 500;

/** A model's tokens as pieces that begin or continue a word, without case; those of more than one kind of vocabulary. */
export function toPieces(vocabulary: ReadonlyMap<string, number>): string[] {
  const tokens = [...vocabulary].sort(([, a], [, b]) => a - b).map(([token]) => token);
  const hasMarks = (mark: string) => tokens.some((token) => token.startsWith(mark) && token.length > mark.length);
  const begin = hasMarks('\u2581') ? '\u2581' : hasMarks('\u0120') ? '\u0120' : undefined;
  const isWordPiece = hasMarks('##');
  const out = new Set<string>();
  for (const token of tokens) {
    if (/^(\[.+\]|<.+>)$/.test(token)) continue;
    const continues = isWordPiece ? token.startsWith('##') : begin !== undefined && !token.startsWith(begin);
    const bare = isWordPiece
      ? continues
        ? token.slice(2)
        : token
      : continues || begin === undefined
        ? token
        : token.slice(begin.length);
    const [word, ...others] = piecesOf(bare);
    if (word === undefined || others.length > 0) continue;
    out.add(continues && /[\p{L}\p{N}]/u.test(word) ? `##${word}` : word);
  }
  return [...out];
}

/** Those that a site uses most, after single characters, which all words are made of; then others in the vocabulary's order. */
function choose(all: readonly string[], texts: readonly string[]): string[] {
  if (all.length <= kMostPieces) return [...all];
  const pieces = new Pieces(all);
  const counts = new Float64Array(all.length);
  for (const text of texts) for (const id of pieces.idsOf(text)) ++counts[id]!;
  const isSingle = (piece: string) => [...piece.replace(/^##/, '')].length === 1;
  const rank = (id: number) =>
    isSingle(all[id]!) && (counts[id]! > 0 || /^(##)?[\x21-\x7e]$/.test(all[id]!)) ? Infinity : counts[id]!;
  const order = [...all.keys()].sort((a, b) => (rank(a) === rank(b) ? a - b : rank(b) - rank(a)));
  return order.slice(0, kMostPieces).map((id) => all[id]!);
}

/** At most `count` places in a list, evenly spread. */
const spread = (length: number, count: number): number[] =>
  Array.from({ length: Math.min(length, count) }, (_, i) => Math.floor(((i + 0.5) * length) / Math.min(length, count)));

/** Runs of a few words of the texts, the same each time. */
function spansOf(texts: readonly string[], count: number): string[] {
  const random = makeRandom(1);
  const words = texts.map((text) => text.split(/\s+/).filter(Boolean)).filter((list) => list.length > 0);
  return Array.from({ length: words.length > 0 ? count : 0 }, () => {
    const list = words[Math.floor(random() * words.length)]!;
    const length = 1 + Math.floor(random() * kSpanWords);
    const begin = Math.floor(random() * Math.max(1, list.length - length));
    return list.slice(begin, begin + length).join(' ');
  });
}

/** The line that gives x the mean and the spread of y: scale x + offset. */
function matched(x: readonly number[], y: readonly number[]): { scale: number; offset: number } {
  const [a, b] = [moments(x), moments(y)];
  const scale = a.deviation > 0 ? b.deviation / a.deviation : 1;
  return { scale, offset: b.mean - scale * a.mean };
}

export interface MadeTable {
  table: Table;
  scale: number;
  offset: number;
  trust: number;
}

/** texts: those of all rows, each with its title and headings before it, on lines of their own. */
export async function makeTable(
  model: FeatureExtractionPipeline,
  texts: readonly string[],
  report: (progress: { done: number; total: number }) => void,
  breather: Breather,
  signal: AbortSignalLike | undefined,
): Promise<MadeTable> {
  const names = choose(toPieces(model.tokenizer.get_vocab()), texts);
  const pieces = new Pieces(names);
  const some = spread(texts.length, kMostTexts).map((i) => texts[i]!);
  const spans = spansOf(some, Math.min(kMostSpans, 10 * some.length));
  const alone = names.map((piece) => piece.replace(/^##(?=.)/, ''));
  const total = some.length + spans.length + alone.length;
  let before = 0;
  const embed = async (list: readonly string[]) => {
    const parts: Float32Array[] = [];
    for (let at = 0; at < list.length; at += kPortion) {
      const { data } = await model.encode_document(list.slice(at, at + kPortion), { normalize: true, signal });
      parts.push(data as Float32Array);
      report({ done: (before += Math.min(kPortion, list.length - at)), total });
    }
    return concat(Float32Array, parts);
  };
  const ofTexts = await embed(some);
  const width = ofTexts.length / some.length;
  const dims = Math.min(kDims, width);
  const directions = await mainDirections(ofTexts, width, dims, breather, signal);
  const targets = new Float32Array((some.length + spans.length) * dims);
  targets.set(along(ofTexts, width, directions));
  targets.set(along(await embed(spans), width, directions), some.length * dims);
  const start = along(await embed(alone), width, directions);
  const toFit =
    (weight: number) =>
    (text: string): FitText => ({ ids: pieces.idsOf(text), weight });
  const rows = await fit([...some.map(toFit(1)), ...spans.map(toFit(kSpanWeight))], targets, start, dims, breather, signal);
  const table = Table.of(names, dims, rows);

  // The first lines of texts, as queries that nobody wrote for this.
  const heads = [...new Set(texts.map((text) => text.split('\n')[1]!.slice(0, 100)))].filter(
    (text) => pieces.idsOf(text).length > 0,
  );
  const places = spread(some.length, kQueryTexts);
  const own = places.map((i) => table.embed(some[i]!));
  const [x, y]: [number[], number[]] = [[], []];
  let trusts = 0;
  const asked = spread(heads.length, kQueries).map((i) => heads[i]!);
  const { data } = await model.encode_query(asked, { normalize: true, signal });
  const { tokens, unknown } = await model(['', ...asked], { prompt: '', signal });
  for (const [i, text] of asked.entries()) {
    const vector = (data as Float32Array).subarray(i * width, (i + 1) * width);
    const count = tokens[i + 1]! - tokens[0]!; // without those around every text
    trusts += trustIn(text, count, Math.round(unknown[i + 1]! * tokens[i + 1]!)) / asked.length;
    const ofTable = table.embed(text);
    places.forEach((place, i) => {
      x.push(own[i]!.reduce((sum, value, j) => sum + value * ofTable[j]!, 0));
      y.push(vector.reduce((sum, value, j) => sum + value * ofTexts[place * width + j]!, 0));
    });
  }
  return { table, ...(asked.length > 0 ? matched(x, y) : { scale: 1, offset: 0 }), trust: asked.length > 0 ? trusts : 1 };
}
