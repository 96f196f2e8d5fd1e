// Processors by name that few models ask for, as in transformers (generation/logits_process.py, v5.24.0). Those that many ask for are in
// C++ (src/generation/processors.h). Each changes a row of scores in place.
import type { RowOptions } from './types.js';

/** What a processor knows of a row. */
export interface RowFacts {
  /** The ids so far, prompt included. */
  ids: readonly number[];
  /** Tokens of the prompt in ids. */
  prompt: number;
  /** What was read: the prompt, or the source of an encoder-decoder. */
  source: Int32Array;
}
type Processor = (scores: Float32Array, facts: RowFacts) => void;

/** The processors of a call, by the moment they act at (GenerationPhase). `before`: those before the caller's own functions. */
export interface Processors {
  logits: Processor[];
  before: Processor[];
  processed: Processor[];
  scores: Processor[];
}

const kForbidden = -Infinity;

/** Probabilities of a row, and their entropy in nats. */
function distribution(scores: Float32Array): { p: Float64Array; log: Float64Array; entropy: number } {
  let most = -Infinity;
  for (const value of scores) if (value > most) most = value;
  const p = new Float64Array(scores.length);
  let sum = 0;
  for (let i = 0; i < p.length; ++i) sum += p[i] = Math.exp((scores[i] as number) - most);
  const log = new Float64Array(p.length);
  let entropy = 0;
  for (let i = 0; i < p.length; ++i) {
    p[i]! /= sum;
    log[i] = (scores[i] as number) - most - Math.log(sum);
    if (p[i]! > 0) entropy -= p[i]! * log[i]!;
  }
  return { p, log, entropy };
}

/** Whether ids ends with the tokens of word but its last one. */
const completes = (ids: readonly number[], word: readonly number[]) =>
  ids.length >= word.length - 1 && word.slice(0, -1).every((id, i) => ids[ids.length - word.length + 1 + i] === id);

function sequenceBias(biases: NonNullable<RowOptions['sequence_bias']>): Processor {
  return (scores, { ids }) => {
    for (const [word, bias] of biases) if (completes(ids, word)) scores[word.at(-1) as number]! += bias;
  };
}

function encoderRepetitionPenalty(penalty: number): Processor {
  return (scores, { source }) => {
    for (const id of new Set(source)) scores[id]! = scores[id]! < 0 ? scores[id]! / penalty : scores[id]! * penalty;
  };
}

function encoderNoRepeat(size: number): Processor {
  return (scores, { ids, source }) => {
    for (let i = 0; i + size <= source.length; ++i) {
      const word = Array.from(source.subarray(i, i + size));
      if (completes(ids, word)) scores[word[size - 1] as number] = kForbidden;
    }
  };
}

/** OpenAI's penalties of tokens that were written: once for each that occurs, and for each time. */
function writtenPenalties(presence: number, frequency: number): Processor {
  return (scores, { ids, prompt }) => {
    const counts = new Map<number, number>();
    for (const id of ids.slice(prompt)) counts.set(id, (counts.get(id) ?? 0) + 1);
    for (const [id, count] of counts) scores[id]! -= presence + frequency * count;
  };
}

function exponentialDecay([start, factor]: readonly [number, number], ends: readonly number[]): Processor {
  return (scores, { ids, prompt }) => {
    const over = ids.length - prompt - start;
    if (over <= 0) return;
    for (const id of ends) {
      const score = scores[id] as number;
      if (Number.isFinite(score)) scores[id] = score + Math.abs(score) * (factor ** over - 1);
    }
  };
}

const suppress =
  (tokens: readonly number[]): Processor =>
  (scores) => {
    for (const id of tokens) scores[id] = kForbidden;
  };

/** only: of the first new token; of one that is forced by forced_bos_token_id, the second. */
const suppressAtBegin =
  (tokens: readonly number[], hasForced: boolean): Processor =>
  (scores, { ids, prompt }) => {
    if (ids.length === (prompt > 1 || !hasForced ? prompt : prompt + 1)) for (const id of tokens) scores[id] = kForbidden;
  };

/** Keeps the tokens for which keeps says so, and the likeliest ones. */
function filter(scores: Float32Array, keeps: (i: number) => boolean): void {
  let most = -Infinity;
  for (const value of scores) if (value > most) most = value;
  for (let i = 0; i < scores.length; ++i) if (!keeps(i) && scores[i]! < most) scores[i] = kForbidden;
}

/** Locally typical sampling: the tokens whose surprise is nearest to the entropy, of so much mass together. */
function typical(mass: number): Processor {
  return (scores) => {
    const { p, log, entropy } = distribution(scores);
    const shifted = Float64Array.from(log, (value) => Math.abs(-value - entropy));
    const order = Array.from(shifted.keys())
      .filter((i) => p[i]! > 0)
      .sort((a, b) => shifted[a]! - shifted[b]! || a - b);
    let sum = 0;
    const last = order.findIndex((i) => (sum += p[i]!) >= mass);
    const most = shifted[order[last < 0 ? order.length - 1 : last] as number] as number;
    for (let i = 0; i < scores.length; ++i) if (!(shifted[i]! <= most)) scores[i] = kForbidden;
  };
}

const epsilonCutoff =
  (epsilon: number): Processor =>
  (scores) => {
    const { p } = distribution(scores);
    filter(scores, (i) => p[i]! >= epsilon);
  };

const etaCutoff =
  (epsilon: number): Processor =>
  (scores) => {
    const { p, entropy } = distribution(scores);
    const eta = Math.min(epsilon, Math.sqrt(epsilon) * Math.exp(-entropy));
    filter(scores, (i) => p[i]! >= eta);
  };

const kTopHTokens = 100;

/** Top-H: the likeliest tokens, as long as their share of the entropy of the 100 likeliest is at most top_h. */
function topH(top_h: number): Processor {
  return (scores) => {
    const best = Array.from(scores.keys())
      .sort((a, b) => scores[b]! - scores[a]! || a - b)
      .slice(0, kTopHTokens);
    const { p, log, entropy } = distribution(Float32Array.from(best, (i) => scores[i]!));
    const kept = new Set<number>();
    let sum = 0;
    best.forEach((token, i) => {
      sum -= p[i]! > 0 ? p[i]! * log[i]! : 0;
      if (i === 0 || sum <= entropy * top_h) kept.add(token);
    });
    for (let i = 0; i < scores.length; ++i) if (!kept.has(i)) scores[i] = kForbidden;
  };
}

const temper =
  (temperature: number): Processor =>
  (scores) => {
    for (let i = 0; i < scores.length; ++i) scores[i]! /= temperature;
  };

/** The processors that options ask for, in transformers' order. ends: the tokens that end a text. */
export function namedProcessors(options: RowOptions, ends: readonly number[]): Processors {
  const out: Processors = { logits: [], before: [], processed: [], scores: [] };
  const {
    sequence_bias,
    encoder_repetition_penalty = 1,
    encoder_no_repeat_ngram_size = 0,
    presence_penalty = 0,
    frequency_penalty = 0,
    exponential_decay_length_penalty,
    suppress_tokens,
    begin_suppress_tokens,
    top_h,
    temperature = 1,
    typical_p = 1,
    epsilon_cutoff = 0,
    eta_cutoff = 0,
  } = options;
  if (sequence_bias) out.logits.push(sequenceBias(sequence_bias));
  if (encoder_repetition_penalty !== 1) out.logits.push(encoderRepetitionPenalty(encoder_repetition_penalty));
  if (encoder_no_repeat_ngram_size > 0) out.logits.push(encoderNoRepeat(encoder_no_repeat_ngram_size));
  if (presence_penalty !== 0 || frequency_penalty !== 0) out.logits.push(writtenPenalties(presence_penalty, frequency_penalty));
  if (exponential_decay_length_penalty) out.before.push(exponentialDecay(exponential_decay_length_penalty, ends));
  if (suppress_tokens) out.before.push(suppress(suppress_tokens));
  if (begin_suppress_tokens) out.before.push(suppressAtBegin(begin_suppress_tokens, options.has_forced_bos ?? false));
  if (!options.do_sample) return out; // the others shape what is drawn from
  if (top_h !== undefined) out.processed.push(temper(temperature), topH(top_h)); // C++ has top_k after it
  if (typical_p < 1) out.scores.push(typical(typical_p));
  if (epsilon_cutoff > 0) out.scores.push(epsilonCutoff(epsilon_cutoff));
  if (eta_cutoff > 0) out.scores.push(etaCutoff(eta_cutoff));
  return out;
}
