// The tokens of one text, as a tokenizer cuts it.
import type { Tokenizer } from 'wattn';

export interface ShownToken {
  token: string;
  id: number;
  /** Put there by the tokenizer, not out of the text. */
  special: boolean;
  /** Goes on with the word of the token before. */
  joined: boolean;
  /** text.slice(...span) is what it stands for. */
  span: readonly [number, number];
}

export interface TokenizedText {
  tokens: ShownToken[];
  truncated: boolean;
  /** Where the model stops reading; undefined when it reads all. */
  readUpTo: number | undefined;
  error?: Error;
}

const isInWord = (text: string, at: number) => at > 0 && /^[\p{L}\p{N}]{2}$/u.test(text.slice(at - 1, at + 1));

/** maxLength: where a model stops reading; without it, all of the text. */
export function readTokens(tokenizer: Tokenizer, text: string, maxLength?: number): TokenizedText {
  try {
    const encoding = tokenizer(text, {
      ...(maxLength !== undefined && { truncation: true, max_length: maxLength }),
      return_offsets_mapping: true,
      return_special_tokens_mask: true,
      return_tensor: false,
    });
    const ids = encoding.input_ids;
    const names = tokenizer.convert_ids_to_tokens(ids);
    const tokens = ids.map((id, i): ShownToken => {
      const token = names[i] as string;
      const special = encoding.special_tokens_mask?.[i] === 1;
      const span = encoding.offset_mapping?.[i] ?? [0, 0];
      return { token, id, special, joined: !special && isInWord(text, span[0]), span };
    });
    const truncated = encoding.truncated[0] === true;
    const readUpTo = truncated ? Math.max(0, ...tokens.map(({ span }) => span[1])) : undefined;
    return { tokens, truncated, readUpTo };
  } catch (error) {
    return { tokens: [], truncated: false, readUpTo: undefined, error: error as Error };
  }
}
