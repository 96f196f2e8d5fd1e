// question-answering: the spans of a context that answer a question, as in transformers' QuestionAnsweringPipeline (v4).
import { describe, InputError } from '../core/errors.js';
import { ownCopy, type Rules } from '../core/options.js';
import type { Answer, QuestionAnsweringOptions, QuestionContext } from './task_types.js';
import { tokenOf } from '../tokenizer/config.js';
import { predict, type Window } from './predict.js';
import { softmax } from '../core/scores.js';
import { takeOptions, takeTopK, toSeamOptions, type Task, type TaskEngine, type TextOptions } from '../engine/task.js';

const kRules: Rules = {
  top_k: 'any',
  topk: 'any',
  doc_stride: 'count',
  max_answer_len: 'count',
  max_seq_len: 'count',
  handle_impossible_answer: 'boolean',
  align_to_words: 'boolean',
};

const kMaxSeqLen = 384;
const kDocStride = 128;

interface Options extends TextOptions {
  top_k: number;
  doc_stride?: number;
  max_answer_len: number;
  max_seq_len?: number;
  handle_impossible_answer: boolean;
  align_to_words: boolean;
}

interface Candidate {
  start: number; // tokens
  end: number;
  score: number;
}

/** Tokens allowed in an answer: the context's, and [CLS], which means "no answer". */
function allowed({ ids, sequence_ids }: Window, cls: number): boolean[] {
  return Array.from(ids, (id, i) => sequence_ids[i] === 1 || id === cls);
}

/** Probabilities of the start (column 0) or end (column 1) over the allowed tokens. */
function probabilities({ logits, ids }: Window, column: number, mask: readonly boolean[]): Float64Array {
  return softmax(Array.from(ids, (_, i) => (mask[i] ? (logits[2 * i + column] as number) : -10000)));
}

/** The best spans of a window, best first, and the probability that there is no answer. */
function spansOf(window: Window, cls: number, count: number, longest: number): { spans: Candidate[]; none: number } {
  const mask = allowed(window, cls);
  const starts = probabilities(window, 0, mask);
  const ends = probabilities(window, 1, mask);
  const none = (starts[0] as number) * (ends[0] as number);
  const spans: Candidate[] = [];
  for (let start = 1; start < starts.length; ++start) {
    for (let end = start; end < Math.min(starts.length, start + longest); ++end) {
      const score = (starts[start] as number) * (ends[end] as number);
      if (mask[start] && mask[end] && score > 0) spans.push({ start, end, score });
    }
  }
  return { spans: spans.sort((a, b) => b.score - a.score).slice(0, count), none };
}

/** The characters of a span of tokens. words: extends the span to whole words, within the window. */
function charactersOf({ offsets, word_ids, sequence_ids }: Window, { start, end }: Candidate, words: boolean): [number, number] {
  const inWord = (token: number, other: number) =>
    sequence_ids[other] === 1 && (word_ids[other] as number) >= 0 && word_ids[other] === word_ids[token];
  let [first, last] = [start, end];
  if (words && inWord(start, start) && inWord(end, end)) {
    while (first > 0 && inWord(start, first - 1)) --first;
    while (last + 1 < word_ids.length && inWord(end, last + 1)) ++last;
  }
  return [offsets[2 * first] as number, offsets[2 * last + 1] as number];
}

function answersOf(context: string, windows: readonly Window[], cls: number, options: Options): Answer[] {
  const { align_to_words, top_k } = options;
  const answers = new Map<string, Answer>();
  let none = Infinity;
  for (const window of windows) {
    const count = align_to_words ? 2 * top_k + 10 : top_k;
    const found = spansOf(window, cls, count, options.max_answer_len);
    none = Math.min(none, found.none);
    for (const span of found.spans) {
      const [start, end] = charactersOf(window, span, align_to_words);
      const answer = context.slice(start, end);
      const same = answers.get(answer.toLowerCase());
      if (same) same.score += span.score;
      else answers.set(answer.toLowerCase(), { score: span.score, start, end, answer });
    }
  }
  const list = [...answers.values()];
  if (options.handle_impossible_answer) list.push({ score: none, start: 0, end: 0, answer: '' });
  return list.sort((a, b) => b.score - a.score).slice(0, top_k);
}

function clsOf(engine: TaskEngine): number {
  const token = tokenOf(
    engine.call((handle) => handle.describe_tokenizer()),
    'cls_token',
  );
  return token === undefined ? -1 : engine.call((handle) => handle.token_to_id(token)).id;
}

function takeItems(where: string, question: unknown, context: unknown): { items: QuestionContext[]; single: boolean } {
  if (typeof question === 'string' && typeof context === 'string') return { items: [{ question, context }], single: true };
  const list: readonly unknown[] = Array.isArray(question) ? question : [question];
  const items = list.map((value, i) => {
    if (typeof value === 'string' && typeof context === 'string') return { question: value, context };
    const nth: unknown = Array.isArray(context) && context.length === list.length ? context[i] : undefined;
    if (typeof value === 'string' && typeof nth === 'string') return { question: value, context: nth };
    const { question: own, context: beside } = ownCopy(Object(value) as Partial<QuestionContext>);
    if (typeof own === 'string' && typeof beside === 'string') return { question: own, context: beside };
    throw new InputError(
      `${where}: expected a question and a context, or { question, context }, found ${describe(value)} and ${describe(context)}`,
    );
  });
  return { items, single: !Array.isArray(question) };
}

export const questionAnswering: Task<QuestionContext, Options, Answer[]> = {
  head: 'answer',

  prepare(args) {
    const where = 'question-answering';
    // Arguments: (question, context, options) or ({ question, context }, options).
    const [first] = [args[0]].flat();
    const isApart = typeof first === 'string' || (first === undefined && (typeof args[1] === 'string' || Array.isArray(args[1])));
    const [question, context, given] = isApart ? args : [args[0], undefined, args[1]];
    const { options, signal, own } = takeOptions<QuestionAnsweringOptions>(where, given, kRules);
    const top_k = takeTopK(where, own, 1);
    const { items, single } = takeItems(where, question, context);
    return {
      items,
      options: {
        ...(options as Partial<Options>),
        top_k,
        max_answer_len: options.max_answer_len ?? 15,
        handle_impossible_answer: options.handle_impossible_answer === true,
        align_to_words: options.align_to_words !== false,
      },
      signal,
      finish: (results) => {
        const shaped = results.map((answers) => (top_k === 1 ? (answers[0] ?? null) : answers));
        return single ? shaped[0] : shaped;
      },
    };
  },

  async run(engine, items, options, where) {
    const { max_length } = engine.call((handle) => handle.info());
    const room = options.max_seq_len ?? Math.min(max_length, kMaxSeqLen);
    const overlap = options.doc_stride ?? Math.min(Math.floor(room / 2), kDocStride);
    const cls = clsOf(engine);
    const out: Answer[][] = [];
    // One at a time, because each item can have many windows with large logits.
    for (const [i, { question, context }] of items.entries()) {
      const seam = toSeamOptions(options, { strategy: 'only_second', max_length: room, overlap, return_overflowing: true });
      const [windows] = await predict(engine, [{ text: question, text_pair: context }], seam, { ...where, first: where.first + i });
      out.push(answersOf(context, windows as Window[], cls, options));
    }
    return out;
  },
};
