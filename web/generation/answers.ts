// What constrained texts are for the caller: JSON, or an error that has what there is.
import { IncompleteError } from '../core/errors.js';
import type { GeneratedText } from './generation_types.js';
import type { PlainFormat, PlainFormats } from './response_format.js';

/**
 * The results of a prompt, with `parsed` where they are JSON. Beams that only filled up their number are left out.
 *
 * @throws IncompleteError for a text that reached its length limit.
 */
export function readAnswers(
  list: readonly (GeneratedText & { answer?: string; isCut?: boolean })[],
  format: PlainFormat | null,
  prompt: number,
): GeneratedText[] {
  const out: GeneratedText[] = [];
  for (const { answer, isCut, ...one } of list) {
    if (isCut && out.length > 0) continue;
    if (isCut) {
      throw new IncompleteError(
        `generate: prompt ${prompt}: expected a text that response_format allows, found only its beginning in ${one.tokens.length} tokens; raise max_new_tokens, or bound the format's lengths`,
        { text: one.generated_text, tokens: one.tokens, prompt_tokens: one.prompt_tokens, prompt },
      );
    }
    out.push(format?.isJson && answer !== undefined && one.finish_reason !== 'stop' ? { ...one, parsed: JSON.parse(answer) } : one);
  }
  return out;
}

/**
 * The results of all prompts. made: what the caller gets of those of one.
 *
 * @throws IncompleteError for texts that reached their length limit; with several prompts it has the results of the others.
 */
export function readAll<Made>(
  lists: readonly (readonly (GeneratedText & { answer?: string; isCut?: boolean })[])[],
  { list: formats }: PlainFormats,
  made: (list: GeneratedText[], prompt: number) => Made,
): Made[] {
  const failed: IncompleteError[] = [];
  const results = lists.map((list, i) => {
    try {
      return made(readAnswers(list, formats[i] ?? null, i), i);
    } catch (error) {
      if (!(error instanceof IncompleteError)) throw error;
      failed.push(error);
      return error;
    }
  });
  const [first] = failed;
  if (!first) return results as Made[];
  if (lists.length === 1) throw first;
  const { text, tokens, prompt_tokens, prompt, message } = first;
  const counted = failed.length === 1 ? message : `${message} (and ${failed.length - 1} more of ${lists.length} prompts)`;
  throw new IncompleteError(counted, { text, tokens, prompt_tokens, prompt, results });
}

/** The beginning of a text that its length ended, as a result, for protocols that have a reason for it. Other errors are thrown on. */
export function readBeginning(error: unknown): GeneratedText[] {
  if (!(error instanceof IncompleteError)) throw error;
  const { text, tokens, prompt_tokens } = error;
  return [{ generated_text: text, tokens, prompt_tokens, finish_reason: 'length' }];
}
