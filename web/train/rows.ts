// Rows of a training set: their kinds, and the batches of each step.
import { describe, InputError } from '../core/errors.js';
import { makeRandom, shuffle } from '../core/random.js';
import { checkChat } from '../tokenizer/chat_template.js';
import type { Chat } from '../tokenizer/types.js';
import type { Rows } from './train_task.js';
import type { HeadLoss, OwnLoss, SentenceLoss } from './types.js';

/**
 * texts: of a loss of one's own, which may want nothing else. anchors, scored: texts that are compared. labelled, many, value: a text, maybe with a second one, and its label, its labels or a number.
 * tokens: words with a tag each. language: a text, or a chat, to be continued. transformed: a text, and what is made of it.
 */
export type Kind = 'texts' | 'anchors' | 'scored' | 'labelled' | 'many' | 'value' | 'tokens' | 'language' | 'transformed';

/** Names that data sets give the two columns of `transformed`. */
const kSources = ['text', 'source', 'input', 'document', 'article'];
const kTargets = ['target', 'summary', 'output', 'highlights'];

/** The columns of texts of each kind; the last one may be absent, then in all rows. */
const kColumns: Record<Kind, { columns: readonly string[]; optional?: string }> = {
  anchors: { columns: ['anchor', 'positive'], optional: 'negative' },
  scored: { columns: ['sentence1', 'sentence2'] },
  texts: { columns: [] }, // those that are there
  labelled: { columns: ['text'], optional: 'text_pair' },
  many: { columns: ['text'], optional: 'text_pair' },
  value: { columns: ['text'], optional: 'text_pair' },
  tokens: { columns: [] },
  language: { columns: [] },
  transformed: { columns: [] }, // by their names
};

const kSentenceLosses: Partial<Record<Kind, readonly SentenceLoss[]>> = {
  labelled: ['SupConLoss', 'BatchAllTripletLoss'],
  anchors: ['MultipleNegativesRankingLoss', 'TripletLoss'],
  scored: ['CoSENTLoss', 'CosineSimilarityLoss', 'ContrastiveLoss'],
};

const kHeadLosses: Partial<Record<Kind, HeadLoss>> = {
  labelled: 'CrossEntropyLoss',
  tokens: 'CrossEntropyLoss',
  language: 'CrossEntropyLoss',
  transformed: 'CrossEntropyLoss',
  many: 'BCEWithLogitsLoss',
  value: 'MSELoss',
};

const kRows =
  "{ text[, text_pair], label }, { text, labels }, { anchor, positive[, negative] }, { sentence1, sentence2, score }, { tokens, ner_tags }, { messages }, { text } or, with task 'text2text-generation', { text, target }";

/** A training or validation set. */
export interface Examples {
  kind: Kind;
  size: number;
  /** [columns][rows] */
  columns: string[][];
  /** [rows] of labelled rows; of many and tokens [rows][labels or words]. */
  labels: string[][];
  /** [rows] of scored rows and values. */
  scores: number[];
  /**
   * [rows][words] of tokens: where each begins in its text, which is all of them joined by spaces. Of chats: begin and end of each answer.
   */
  begins: number[][];
  /** [rows] of language: chats, until they are rendered (`language.ts`); undefined: texts. */
  chats?: Chat[];
  /** Whether texts have all their special tokens. */
  is_rendered: boolean;
}

type Row = Readonly<Record<string, unknown>>;

/** The columns of a row that an encoder-decoder reads and learns to write. */
function transformedColumns(row: Row): string[] | undefined {
  const [source, target] = [kSources, kTargets].map((names) => names.find((name) => name in row));
  return source !== undefined && target !== undefined ? [source, target] : undefined;
}

/** The columns of a row of a sentence encoder that has texts, and nothing that a loss of ours would compare. */
function textsAlone(row: Row): string[] | undefined {
  if ('sentence1' in row && 'sentence2' in row && !('score' in row)) return ['sentence1', 'sentence2'];
  return 'text' in row && !('label' in row) && !('labels' in row) ? ['text'] : undefined;
}

function kindOf(row: Row, task: string | undefined, hasOwnLoss: boolean): Kind | undefined {
  if (hasOwnLoss && textsAlone(row)) return 'texts';
  if (task === 'text2text-generation') return transformedColumns(row) && 'transformed';
  if ('anchor' in row) return 'anchors';
  if ('sentence1' in row) return 'scored';
  if ('tokens' in row) return 'tokens';
  if ('messages' in row) return 'language';
  if (!('text' in row)) return undefined;
  if (!('label' in row) && !('labels' in row)) return 'language';
  return 'labels' in row ? 'many' : typeof row['label'] === 'number' ? 'value' : 'labelled';
}

const isLanguageTask = (task: string | undefined) => task === 'text-generation' || task === 'text2text-generation';

/**
 * where: for messages. hasOwnLoss: whether the caller computes the loss. like: the training set, for a validation set. placeOf: where a row is, for messages. task: what is trained, which says
 * what the columns of a row mean where their names alone do not.
 */
export function toExamples(
  where: string,
  rows: unknown,
  {
    like,
    placeOf = (i) => `row ${i}`,
    task,
    hasOwnLoss = false,
  }: { like?: Examples | undefined; placeOf?: (i: number) => string; task?: string; hasOwnLoss?: boolean } = {},
): Examples {
  if (!Array.isArray(rows)) throw new InputError(`${where}: expected an array of rows, found ${describe(rows)}`);
  if (rows.length === 0) throw new InputError(`${where}: expected rows, found none`);
  rows.forEach((row, i) => {
    if (typeof row !== 'object' || row === null)
      throw new InputError(`${where}: ${placeOf(i)}: expected an object, found ${describe(row)}`);
  });
  const [first] = rows as [Row];
  const kind = kindOf(first, task, hasOwnLoss && !isLanguageTask(task));
  if (!kind) throw new InputError(`${where}: expected rows ${kRows}, found one with ${Object.keys(first).join(', ') || 'nothing'}`);
  if (like && like.kind !== kind) {
    throw new InputError(`${where}: expected rows like the training rows (${like.kind}), found others (${kind})`);
  }
  const wrong = (i: number, what: string, found: unknown) =>
    new InputError(`${where}: ${placeOf(i)}: expected ${what}, found ${describe(found)}`);
  const textOf = (row: Row, i: number, name: string) => {
    if (typeof row[name] !== 'string') throw wrong(i, `a string as '${name}'`, row[name]);
    return row[name];
  };
  const numberOf = (row: Row, i: number, name: string) => {
    if (typeof row[name] !== 'number' || !Number.isFinite(row[name])) throw wrong(i, `a number as '${name}'`, row[name]);
    return row[name];
  };
  const textsOf = (
    row: Row,
    i: number,
    name: string,
    isName: (value: unknown) => boolean = (value) => typeof value === 'string',
  ) => {
    const list = row[name];
    if (!Array.isArray(list) || !list.every(isName)) throw wrong(i, `an array of strings as '${name}'`, list);
    return list.map(String);
  };
  const { optional, ...own } = kColumns[kind];
  const named = kind === 'transformed' ? transformedColumns(first) : kind === 'texts' ? textsAlone(first) : undefined;
  const names = named ?? own.columns;
  const all = optional !== undefined && optional in first ? [...names, optional] : names;
  const examples: Examples = {
    kind,
    size: rows.length,
    columns: all.map((name) => rows.map((row, i) => textOf(row, i, name))),
    labels: [],
    scores: [],
    begins: [],
    is_rendered: false,
  };
  if (kind === 'labelled') examples.labels = rows.map((row, i) => [textOf(row, i, 'label')]);
  if (kind === 'many') examples.labels = rows.map((row, i) => textsOf(row, i, 'labels'));
  if (kind === 'scored') examples.scores = rows.map((row, i) => numberOf(row, i, 'score'));
  if (kind === 'value') examples.scores = rows.map((row, i) => numberOf(row, i, 'label'));
  if (kind === 'language' && 'text' in first) examples.columns = [rows.map((row, i) => textOf(row, i, 'text'))];
  if (kind === 'language' && !('text' in first)) {
    examples.chats = rows.map((row, i) => {
      checkChat(`${where}: ${placeOf(i)}`, row.messages);
      return row.messages;
    });
  }
  if (kind === 'tokens') addWords(examples, rows as Row[], { wrong, textsOf });
  if (kind === 'labelled' && !like && new Set(examples.labels.flat()).size < 2) {
    throw new InputError(`${where}: expected at least two labels, found only '${examples.labels[0]?.[0]}'`);
  }
  return examples;
}

function addWords(
  examples: Examples,
  rows: readonly Row[],
  {
    wrong,
    textsOf,
  }: {
    wrong: (i: number, what: string, found: unknown) => Error;
    textsOf: (row: Row, i: number, name: string, isName?: (value: unknown) => boolean) => string[];
  },
): void {
  const texts: string[] = [];
  rows.forEach((row, i) => {
    const words = textsOf(row, i, 'tokens');
    const tags = textsOf(row, i, 'ner_tags', (tag) => typeof tag === 'string' || Number.isInteger(tag));
    if (words.length === 0) throw wrong(i, "words as 'tokens'", words);
    if (tags.length !== words.length) throw wrong(i, `${words.length} tags as 'ner_tags'`, row['ner_tags']);
    let at = 0;
    examples.begins.push(words.map((word) => (at += word.length + 1) - word.length - 1));
    examples.labels.push(tags);
    texts.push(words.join(' '));
  });
  examples.columns = [texts];
}

/** A loss by name, or one of the caller's. */
export type TrainedLoss = SentenceLoss | HeadLoss | 'own_of_vectors' | 'own_of_logits';

/** isHead: whether the loss is one over a head's logits. ofHead: the one by name that such rows have. */
export function lossOf(
  where: string,
  { kind, columns }: Examples,
  wanted: SentenceLoss | HeadLoss | OwnLoss | undefined,
  hasHead: boolean,
): { loss: TrainedLoss; isHead: boolean; ofHead: HeadLoss | undefined } {
  const ofHead = kHeadLosses[kind];
  const ofSentences = (columns.length > 1 && kind === 'labelled' ? [] : (kSentenceLosses[kind] ?? [])).filter(
    (loss) => loss !== 'TripletLoss' || columns.length === 3,
  );
  const known = [...(hasHead ? [] : ofSentences), ...(ofHead ? [ofHead] : [])];
  if (typeof wanted === 'function') {
    const isHead = known[0] !== undefined && known[0] === ofHead;
    return { loss: isHead ? 'own_of_logits' : 'own_of_vectors', isHead, ofHead };
  }
  const loss = wanted ?? known[0];
  if (loss !== undefined && known.includes(loss)) return { loss, isHead: loss === ofHead, ofHead };
  const found = wanted === undefined ? 'none' : `'${wanted}'`;
  throw new InputError(
    `${where}: option 'loss': expected ${known.join(' or ') || 'other rows'} for these rows and this model, found ${found}`,
  );
}

/** The names of all labels, in the order of their numbers: alphabetical, but whole numbers by their value. */
export function labelNames({ labels }: Examples): string[] {
  const names = [...new Set(labels.flat())];
  const areNumbers = names.every((name) => /^\d+$/.test(name));
  return names.sort((a, b) => (areNumbers ? Number(a) - Number(b) : a < b ? -1 : 1));
}

/** The numbers of each row's labels. hint: what the error adds for a label that is not among the names. */
export function labelIdsOf(where: string, { labels }: Examples, names: readonly string[], hint = ''): number[][] {
  const ids = new Map(names.map((name, i) => [name, i]));
  return labels.map((own, row) =>
    own.map((label) => {
      const id = ids.get(label);
      if (id !== undefined) return id;
      throw new InputError(`${where}: row ${row}: expected one of the labels ${names.join(', ')}, found '${label}'${hint}`);
    }),
  );
}

/** The rows with these indices, as a loss over sentence vectors reads them. */
export function takeSentences(
  { kind, columns, scores }: Examples,
  indices: readonly number[],
  labelIds: readonly number[][],
): Rows {
  const at = <T>(values: readonly T[]) => indices.map((i) => values[i] as T);
  return {
    texts: columns.flatMap(at),
    pairs: [],
    labels: kind === 'labelled' ? at(labelIds).flat() : [],
    scores: kind === 'anchors' ? [columns.length] : at(scores),
    is_rendered: false,
  };
}

/** The rows with these indices, as a loss over a head's logits reads them. count: of labels. */
export function takeForHead(
  { kind, columns, labels, scores, begins, is_rendered }: Examples,
  indices: readonly number[],
  labelIds: readonly number[][],
  count: number,
): Rows {
  const at = <T>(values: readonly T[]) => indices.map((i) => values[i] as T);
  const [texts = [], pairs = []] = columns.map(at);
  const out: Rows = { texts, pairs, labels: [], scores: [], is_rendered };
  if (kind === 'language' && is_rendered) {
    out.labels = at(begins).flatMap((ends) => [ends.length / 2, ...ends.flatMap((end, i) => (i % 2 ? [end, 1] : [end]))]);
  }
  if (kind === 'labelled') out.labels = at(labelIds).flat();
  if (kind === 'value') out.scores = at(scores);
  if (kind === 'many') {
    out.scores = at(labelIds).flatMap((own) => Array.from({ length: count }, (_, label) => Number(own.includes(label))));
  }
  if (kind === 'tokens') {
    out.labels = indices.flatMap((i) => {
      const starts = begins[i] as number[];
      const text = (columns[0] as string[])[i] as string;
      const words = (labels[i] as string[]).flatMap((_, word) => {
        const end = word + 1 < starts.length ? (starts[word + 1] as number) - 1 : text.length;
        return [starts[word] as number, end, (labelIds[i] as number[])[word] as number];
      });
      return [starts.length, ...words];
    });
  }
  return out;
}

/**
 * The indices of each batch, for ever: the same for the same seed. isHead: rows in any order. Otherwise batches of labelled rows have the same
 * number of rows, at least two, of each of several labels. A batch of anchors has no text twice, since one anchor's positive is another's
 * negative.
 */
export function* batches(examples: Examples, size: number, seed: number, isHead: boolean): Generator<number[]> {
  const random = makeRandom(seed);
  if (examples.kind === 'labelled' && !isHead) {
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
  labels.forEach(([label = ''], i) => {
    const own = rowsOf.get(label);
    if (own) own.push(i);
    else rowsOf.set(label, [i]);
  });
  const groups = [...rowsOf.values()];
  const each = Math.max(2, Math.floor(size / groups.length));
  const count = Math.max(2, Math.min(groups.length, Math.floor(size / each)));
  const nextGroup = rounds([...groups.keys()], random);
  const nextRow = groups.map((group) => rounds(group, random));
  for (;;) {
    const chosen = new Set<number>();
    while (chosen.size < count) chosen.add(nextGroup.next().value as number);
    yield [...chosen].flatMap((group) => {
      const most = Math.min(each, (groups[group] as number[]).length);
      const rows = new Set<number>();
      while (rows.size < most) rows.add((nextRow[group] as Generator<number>).next().value as number);
      return [...rows];
    });
  }
}
