// What late interaction and sparse vectors share: prompts, and running texts in jobs.
import { ownCopy } from '../core/options.js';
import { describe, InputError } from '../core/errors.js';
import { jobPace, runJob } from '../engine/job.js';
import type { Context, TaskEngine, TextOptions } from '../engine/task.js';
import type { JobAnswer, SeamModel, SeamSparseVectorsOptions } from '../host/seam.js';
import { readFields } from '../source/model_files.js';

/** Whether it is a typed array of that type, of this realm or another. */
export const isArray = (value: unknown, type: 'Float32Array' | 'Int32Array'): boolean =>
  ArrayBuffer.isView(value) && (value as unknown as { [Symbol.toStringTag]: string })[Symbol.toStringTag] === type;

export type Role = 'query' | 'document';

/** What is said of a text. */
export interface Facts {
  tokens: number;
  truncated: boolean;
  unknown: number;
}

interface Prompted {
  prompt?: string;
  prompt_name?: string;
}

export interface Settings {
  prompts?: Record<string, string> | null;
  default_prompt_name?: string | null;
  model_type?: string;
  similarity_fn_name?: string | null;
}

export const settingsOf = (engine: Pick<TaskEngine, 'files'>): Settings =>
  readFields(engine.files, 'config_sentence_transformers.json');

/** The text to put before every text, as in sentence-transformers' encode(), or its encode_query() and encode_document(). */
export function promptOf(
  where: string,
  { prompts, default_prompt_name }: Settings,
  role: Role | undefined,
  given: Prompted,
): string {
  const { prompt, prompt_name } = ownCopy(given);
  if (prompt !== undefined && prompt_name !== undefined)
    throw new InputError(`${where}: expected one of the options 'prompt' and 'prompt_name', found both`);
  if (prompt !== undefined) return prompt;
  const name = prompt_name ?? (role === undefined ? default_prompt_name : role);
  if (name === undefined || name === null) return '';
  const known = prompts ?? {};
  if (Object.hasOwn(known, name)) return known[name] as string;
  if (prompt_name === undefined) return '';
  const names = Object.keys(known).join(', ') || 'nothing (this model has no prompts)';
  throw new InputError(`${where}: option 'prompt_name': expected ${names}, found ${describe(prompt_name)}`);
}

export interface RetrievalAnswer extends JobAnswer {
  tokens: Int32Array; // [texts]
  untruncated: Int32Array; // [texts]
  unknown: Float32Array; // [texts]
}

// Limits of one job.
const kMostTexts = 256;
const kMostChars = 1 << 19;

/** Runs texts in as many jobs as needed. take: called for each text, with its index in the job and its facts. */
export async function runTexts<A extends RetrievalAnswer>(
  where: string,
  engine: TaskEngine,
  texts: readonly string[],
  options: TextOptions & { is_query: boolean; max_active_dims?: number | undefined },
  { first, signal }: Context,
  call: (handle: SeamModel, texts: readonly string[], options: SeamSparseVectorsOptions, steps: number) => A,
  take: (answer: A, text: number, facts: Facts) => void,
): Promise<void> {
  const pace = jobPace();
  const { is_query, max_length, max_active_dims, split_special_tokens, on_overflow } = ownCopy(options);
  for (let begin = 0; begin < texts.length;) {
    let chars = 0;
    let end = begin;
    while (end < texts.length && end < begin + kMostTexts) {
      chars += (texts[end] as string).length;
      if (end > begin && chars > kMostChars) break;
      ++end;
    }
    const some = texts.slice(begin, end);
    const seamOptions = { is_query, max_length, max_active_dims, split_special_tokens, first_text: first + begin };
    const answer = await runJob(engine, pace, signal, (handle, steps) => call(handle, some, seamOptions, steps));
    for (let i = 0; i < end - begin; ++i) {
      const [tokens, untruncated] = [answer.tokens[i] as number, answer.untruncated[i] as number];
      if (on_overflow === 'error' && untruncated > tokens) {
        const at = first + begin + i;
        throw new InputError(
          `${where}: text ${at}: expected at most ${tokens} tokens, found ${untruncated} (on_overflow is 'error')`,
        );
      }
      take(answer, i, { tokens, truncated: untruncated > tokens, unknown: answer.unknown[i] as number });
    }
    begin = end;
  }
}
