// Counts tokens, and does nothing else: the code of wattn/count.
import { disposable } from '../core/disposable.js';
import { readFamiliar } from '../core/familiar_options.js';
import { readOptions } from '../core/options.js';
import { throwIfAborted } from '../core/signal.js';
import { readTexts } from '../core/texts.js';
import { EncodedArrays } from '../host/wire.js';
import { kSourceRules } from '../source/model_source.js';
import type { ModelSpecifier, SourceOptions } from '../source/types.js';
import { kCountRules } from './count_rules.js';
import { startHost } from './start.js';
import type { CountOptions } from './types.js';
import { loadVocabulary } from './vocabulary_files.js';

/** Counts tokens, see {@link loadCounter}. */
export interface TokenCounter {
  /** The number of tokens of a text, including special tokens. Equals the number of ids from `AutoTokenizer`. */
  (text: string, options?: CountOptions): number;
  (texts: readonly string[], options?: CountOptions): number[];
  /** Frees the memory. Later calls throw a `StateError`. */
  dispose(): Promise<void>;
}

/**
 * Loads a vocabulary for counting tokens. `count` of `AutoTokenizer` gives the same numbers; load that if you need more than counting.
 *
 * @param vocabulary - a `.tiktoken` file (gpt2, r50k_base, p50k_base, p50k_edit, cl100k_base, o200k_base, qwen) or a tokenizer's files: a URL, a path, a Hub id, or the
 * bytes by file name. See `ModelSpecifier`.
 * @param options - as for `AutoTokenizer.from_pretrained`.
 * @returns a function that returns a number for one text, numbers for several.
 * @throws `ModelFormatError` for files that are not a tokenizer; `NetworkError`.
 * @example
 * const countTokens = await loadCounter('./models/bert'); // or './o200k_base.tiktoken', 'org/name', a URL
 * countTokens('the river'); // => 4
 */
export async function loadCounter(vocabulary: ModelSpecifier, options?: SourceOptions): Promise<TokenCounter> {
  options = await readFamiliar('loadCounter', options, kSourceRules);
  throwIfAborted(options?.signal ?? undefined);
  const { host } = await loadVocabulary(vocabulary, options ?? {}, startHost, { countsOnly: true });
  const count = (texts: string | readonly string[], options?: CountOptions | null) => {
    const { add_special_tokens, split_special_tokens } = readOptions('countTokens', options ?? {}, kCountRules);
    const list = readTexts('countTokens', texts);
    const seam = { add_special_tokens, split_special_tokens, arrays: EncodedArrays.per_encoding };
    const { lengths } = host.call((handle) => handle.encode(list, undefined, seam));
    return typeof texts === 'string' ? lengths[0] : Array.from(lengths);
  };
  return disposable(count, () => host.release()) as unknown as TokenCounter;
}
