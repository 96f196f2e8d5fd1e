// The logits of the model's head for texts, in as many calls as needed.
import { describe, InputError } from '../core/errors.js';
import type { PredictAnswer, SeamPredictOptions } from '../host/seam.js';
import { jobPace, runJob } from '../engine/job.js';
import type { Context, TaskEngine } from '../engine/task.js';

export interface Input {
  text: string;
  text_pair?: string | undefined;
}

/** An argument of a classification. */
export function toInput(where: string, value: unknown, index: number): Input {
  if (typeof value === 'string') return { text: value };
  const { text, text_pair } = (value ?? {}) as Partial<Input>;
  // As in Python, an empty second text is none.
  if (typeof text === 'string' && typeof text_pair === 'string') return text_pair === '' ? { text } : { text, text_pair };
  throw new InputError(`${where}: expected a string or { text, text_pair } at index ${index}, found ${describe(value)}`);
}

/** The result for a text, or for one window of it. */
export interface Window {
  ids: Int32Array; // [tokens], like the next ones
  offsets: Int32Array; // two numbers per token, UTF-16 units of its text
  special_tokens_mask: Int32Array;
  word_ids: Int32Array; // -1: none
  sequence_ids: Int32Array; // -1: none
  logits: Float32Array; // [rows, labels]
  rows: number;
  labels: number;
  /** Number of tokens without truncation. */
  untruncated: number;
  /** The share of unknown tokens. */
  unknown: number;
}

// Limits of one job.
const kMostTexts = 1024;
const kMostChars = 1 << 20;

function cut(answer: PredictAnswer, count: number): Window[][] {
  const out: Window[][] = Array.from({ length: count }, () => []);
  let token = 0;
  let value = 0;
  answer.lengths.forEach((length, i) => {
    const end = token + length;
    const rows = answer.rows[i] as number;
    out[answer.text[i] as number]?.push({
      ids: answer.ids.subarray(token, end),
      offsets: answer.offsets.subarray(2 * token, 2 * end),
      special_tokens_mask: answer.special_tokens_mask.subarray(token, end),
      word_ids: answer.word_ids.subarray(token, end),
      sequence_ids: answer.sequence_ids.subarray(token, end),
      logits: answer.logits.subarray(value, value + rows * answer.labels),
      rows,
      labels: answer.labels,
      untruncated: answer.untruncated[i] as number,
      unknown: answer.unknown[i] as number,
    });
    token = end;
    value += rows * answer.labels;
  });
  return out;
}

/** The end of a job's texts. All of them have a second text, or none has. */
export function jobEnd(inputs: readonly Input[], begin: number): number {
  const isPair = inputs[begin]?.text_pair !== undefined;
  let chars = 0;
  let end = begin;
  for (; end < inputs.length && end < begin + kMostTexts; ++end) {
    const { text, text_pair } = inputs[end] as Input;
    chars += text.length + (text_pair?.length ?? 0);
    if (end > begin && (chars > kMostChars || (text_pair !== undefined) !== isPair)) break;
  }
  return end;
}

export interface Facts {
  truncated: boolean;
  unknown: number;
}

export function wasTruncated([only, ...others]: readonly Window[]): boolean {
  return others.length === 0 && only !== undefined && only.untruncated > only.ids.length;
}

/** What results say of a text, from its windows. */
export const factsOf = (windows: readonly Window[]): Facts => ({
  truncated: wasTruncated(windows),
  unknown: windows[0]?.unknown ?? 0,
});

/** The only window, for heads that classify whole texts. at: the text's index, for messages. */
export function judgedWindow([window]: readonly Window[], at: number): Window {
  if (!window || window.rows === 0) throw new InputError(`text ${at}: expected at least one token, found none`);
  return window;
}

/** The windows of each input: one, unless options request overflow. whenOver: what to do with truncated texts. */
export async function predict(
  engine: TaskEngine,
  inputs: readonly Input[],
  options: SeamPredictOptions,
  { first, signal }: Context,
  whenOver: 'truncate' | 'error' = 'truncate',
): Promise<Window[][]> {
  const pace = jobPace();
  const out: Window[][] = [];
  while (out.length < inputs.length) {
    const begin = out.length;
    const end = jobEnd(inputs, begin);
    const slice = inputs.slice(begin, end);
    const texts = slice.map(({ text }) => text);
    const isPair = slice[0]?.text_pair !== undefined;
    const pairs = isPair ? slice.map(({ text_pair }) => text_pair as string) : null;
    const seamOptions = { ...options, first_text: first + begin };
    const answer = await runJob(engine, pace, signal, (handle, steps) => handle.predict(texts, pairs, seamOptions, steps));
    for (const windows of cut(answer, end - begin)) {
      if (whenOver === 'error' && wasTruncated(windows)) {
        const { ids, untruncated } = windows[0] as Window;
        throw new InputError(
          `text ${first + out.length}: expected at most ${ids.length} tokens, found ${untruncated} (on_overflow is 'error')`,
        );
      }
      out.push(windows);
    }
  }
  return out;
}
