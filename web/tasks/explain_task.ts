// The part of `explain` that runs beside the engine, maybe in a worker: the tokens of one text, and what the files say of the tokenizer.
import { ownCopy } from '../core/options.js';
import type { Task } from '../engine/task.js';
import type { EncodeAnswer } from '../host/seam.js';
import { infoOf, tokenOf } from '../tokenizer/config.js';
import type { TokenizerInfo } from '../tokenizer/types.js';

export interface ExplainItem {
  text: string;
  text_pair: string | undefined;
  max_length: number;
  split_special_tokens: boolean;
}

export interface Tokenized extends Omit<EncodeAnswer, 'code' | 'message' | 'tokens'> {
  tokens: string[];
  /** -1: there is none. */
  unknown_id: number;
  /** Strings that are special tokens wherever they stand. */
  specials: string[];
  info: TokenizerInfo;
}

export const explainText: Task<ExplainItem, object, Tokenized> = {
  head: 'none',
  prepare: () => {
    throw new TypeError('explain has no pipeline');
  },
  async run(engine, items) {
    const facts = engine.call((handle) => handle.describe_tokenizer());
    const unknown = tokenOf(facts, 'unk_token');
    const unknown_id = unknown === undefined ? -1 : engine.call((handle) => handle.token_to_id(unknown)).id;
    const info = infoOf(facts);
    const specials = [...facts.roles, ...facts.extra].filter((token) => token !== '');
    return items.map(({ text, text_pair, max_length, split_special_tokens }) => {
      const how = ownCopy({ max_length, split_special_tokens, return_tokens: true });
      const pairs = text_pair === undefined ? undefined : [text_pair];
      const { code: _code, message: _message, tokens = [], ...rest } = engine.call((handle) => handle.encode([text], pairs, how));
      return { ...rest, tokens, unknown_id, specials, info };
    });
  },
};
