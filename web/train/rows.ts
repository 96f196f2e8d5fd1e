// Rows of a training set: their kinds, and the batches of each step.
import { describe, InputError } from '../core/errors.js';
import { makeRandom, shuffle } from '../core/random.js';
import type { Rows } from './train_task.js';
import type { SentenceLoss } from './types.js';

export type Kind = 'labelled' | 'anchors' | 'scored';

/** The columns of each kind, in the order in which losses compare them; negative is absent or in all rows. */
const kColumns: Record<Kind, readonly string[]> = {
  labelled: ['text'],
  anchors: ['anchor', 'positive', 'negative'],
  scored: ['sentence1', 'sentence2'],
};

const kLosses: Record<Kind, readonly SentenceLoss[]> = {
  labelled: ['SupConLoss', 'BatchAllTripletLoss'],
  anchors: ['MultipleNegativesRankingLoss', 'TripletLoss'],
  scored: ['CoSENTLoss', 'CosineSimilarityLoss', 'ContrastiveLoss'],
};

/** A training or validation set. */
export interface Examples {
  kind: Kind;
  /** [columns][rows] */
  columns: string[][];
  /** Of labelled rows. */
  labels: string[];
  /** Of scored rows. */
  scores: number[];
  size: number;
}

/** where: for messages. labels: of the training set, for a validation set. */
export function toExamples(where: string, rows: unknown, like?: Examples): Examples {
  if (!Array.isArray(rows)) throw new InputError(`${where}: expected an array of rows, found ${describe(rows)}`);
  if (rows.length === 0) throw new InputError(`${where}: expected rows, found none`);
  const first = (rows[0] ?? {}) as Record<string, unknown>;
  const kind = (Object.keys(kColumns) as Kind[]).find((each) => (kColumns[each][0] as string) in first);
  if (!kind) {
    throw new InputError(
      `${where}: expected rows { text, label }, { anchor, positive[, negative] } or { sentence1, sentence2, score }, found ${describe(rows[0])}`,
    );
  }
  if (like && like.kind !== kind) {
    throw new InputError(
      `${where}: expected rows with '${kColumns[like.kind][0]}', as the training rows, found '${kColumns[kind][0]}'`,
    );
  }
  const names = kColumns[kind].filter((name) => name !== 'negative' || 'negative' in first);
  const wrong = (i: number, what: string, found: unknown) =>
    new InputError(`${where}: row ${i}: expected ${what}, found ${describe(found)}`);
  const textOf = (row: unknown, i: number, name: string) => {
    const value = (row as Record<string, unknown> | null)?.[name];
    if (typeof value !== 'string') throw wrong(i, `a string as '${name}'`, value);
    return value;
  };
  const columns = names.map((name) => rows.map((row, i) => textOf(row, i, name)));
  const labels = kind === 'labelled' ? rows.map((row, i) => textOf(row, i, 'label')) : [];
  const scores =
    kind === 'scored'
      ? rows.map((row, i) => {
          const { score } = row as { score?: unknown };
          if (typeof score !== 'number' || !Number.isFinite(score)) throw wrong(i, "a number as 'score'", score);
          return score;
        })
      : [];
  if (kind === 'labelled' && !like && new Set(labels).size < 2) {
    throw new InputError(`${where}: expected at least two labels, found only '${labels[0]}'`);
  }
  return { kind, columns, labels, scores, size: rows.length };
}

export function lossOf(where: string, { kind, columns }: Examples, wanted: SentenceLoss | undefined): SentenceLoss {
  const known = kLosses[kind].filter((loss) => loss !== 'TripletLoss' || columns.length === 3);
  const loss = wanted ?? (known[0] as SentenceLoss);
  if (known.includes(loss)) return loss;
  throw new InputError(`${where}: option 'loss': expected ${known.join(' or ')} for these rows, found '${loss}'`);
}

/** The rows with these indices. labelIds: the number of each row's label. */
export function take({ columns, scores }: Examples, indices: readonly number[], labelIds: readonly number[]): Rows {
  const at = <T>(values: readonly T[]) => indices.map((i) => values[i] as T);
  const isAnchors = scores.length === 0 && labelIds.length === 0;
  return {
    texts: columns.flatMap(at),
    labels: labelIds.length > 0 ? at(labelIds) : [],
    scores: isAnchors ? [columns.length] : at(scores),
  };
}

/** The numbers of labels, in alphabetical order of the labels. */
export function labelIdsOf({ labels }: Examples, names: readonly string[]): number[] {
  const ids = new Map(names.map((name, i) => [name, i]));
  return labels.map((label) => ids.get(label) as number);
}

/**
 * The indices of each batch, for ever: the same for the same seed. `skip` batches are left out at the beginning. Batches of labelled rows have
 * the same number of rows, at least two, of each of several labels. A batch of anchors has no text twice, since one anchor's positive is
 * another's negative.
 */
export function* batches(examples: Examples, size: number, seed: number): Generator<number[]> {
  const random = makeRandom(seed);
  if (examples.kind === 'labelled') {
    yield* byLabel(examples, size, random);
    return;
  }
  const order = Array.from({ length: examples.size }, (_, i) => i);
  let later: number[] = [];
  for (;;) {
    shuffle(order, random);
    let batch: number[] = [];
    let seen = new Set<string>();
    const all = [...later, ...order];
    later = [];
    for (const i of all) {
      const texts = examples.kind === 'anchors' ? examples.columns.map((column) => column[i] as string) : [];
      if (texts.some((text) => seen.has(text))) {
        later.push(i);
        continue;
      }
      batch.push(i);
      for (const text of texts) seen.add(text);
      if (batch.length < size) continue;
      yield batch;
      batch = [];
      seen = new Set();
    }
    if (later.length > 2 * examples.size) later = []; // the same text in most rows: batches cannot hold them all
    if (batch.length > (examples.kind === 'anchors' ? 1 : 0) || examples.size < 2) yield batch;
  }
}

/** Numbers of a list, again and again, each time in another order. */
function* rounds(values: readonly number[], random: () => number): Generator<number> {
  const order = [...values];
  for (;;) {
    shuffle(order, random);
    yield* order;
  }
}

function* byLabel({ labels }: Examples, size: number, random: () => number): Generator<number[]> {
  const rowsOf = new Map<string, number[]>();
  labels.forEach((label, i) => rowsOf.set(label, [...(rowsOf.get(label) ?? []), i]));
  const groups = [...rowsOf.values()];
  const each = Math.max(2, Math.floor(size / groups.length));
  const count = Math.max(2, Math.min(groups.length, Math.floor(size / each)));
  const nextGroup = rounds([...groups.keys()], random);
  const nextRow = groups.map((group) => rounds(group, random));
  for (;;) {
    const chosen = new Set<number>();
    while (chosen.size < count) chosen.add(nextGroup.next().value as number);
    const batch = [...chosen].flatMap((group) => {
      const most = Math.min(each, (groups[group] as number[]).length);
      const rows = new Set<number>();
      while (rows.size < most) rows.add((nextRow[group] as Generator<number>).next().value as number);
      return [...rows];
    });
    yield batch;
  }
}
