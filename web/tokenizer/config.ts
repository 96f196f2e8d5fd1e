// The fields of tokenizer_config.json with the defaults of padding, truncation and decoding.
import { ModelFormatError } from '../core/errors.js';
import type { TokenizerAnswer } from '../host/seam.js';
import { readFields, tokenText, type NamedBytes } from '../source/model_files.js';
import type { TokenizerInfo } from './types.js';

/** The named special tokens, in the order of Python's all_special_tokens. */
export const kSpecialTokens = ['bos_token', 'eos_token', 'unk_token', 'sep_token', 'pad_token', 'cls_token', 'mask_token'] as const;

export type SpecialToken = (typeof kSpecialTokens)[number];

export type NamedTokens = { [name in SpecialToken]?: string | undefined };

export interface TokenizerConfig {
  special: NamedTokens;
  /** The class, which has defaults of its own; '' if none is known. */
  name: string;
  /** Special tokens without a name. */
  extra_special_tokens: string[];
  padding_side: 'left' | 'right';
  /** The class's. */
  own_side: 'left' | 'right';
  truncation_side: 'left' | 'right';
  clean_up_tokenization_spaces: boolean;
  /** Whether the model takes token_type_ids. */
  type_ids: boolean;
}

export const kConfig = 'tokenizer_config.json';

/** The token of a role, as the files or their class name it. */
export const tokenOf = ({ roles }: TokenizerAnswer, name: SpecialToken): string | undefined =>
  roles[kSpecialTokens.indexOf(name)] || undefined;

/** What the files say of a tokenizer. */
export const infoOf = (facts: TokenizerAnswer): TokenizerInfo => ({
  tokenizer_class: facts.name || null,
  class_from: facts.from || null,
  vocabulary: facts.vocabulary,
  rules: facts.is_of_class ? 'class' : 'tokenizer.json',
  added_tokens: facts.added_tokens ? facts.added_tokens.split(', ') : [],
});

/** What the tokens are called where no file names them or a class: those of BERT, RoBERTa, T5, Llama, GPT-2 and Llama 3. */
const kUsual: { [name in SpecialToken]: readonly string[] } = {
  bos_token: ['<s>', '<|endoftext|>', '<|begin_of_text|>'],
  eos_token: ['</s>', '<|endoftext|>', '<|end_of_text|>'],
  unk_token: ['[UNK]', '<unk>', '<|endoftext|>'],
  sep_token: ['[SEP]'],
  pad_token: ['[PAD]', '<pad>'],
  cls_token: ['[CLS]'],
  mask_token: ['[MASK]', '<mask>'],
};

/** The special tokens that the files or their class name; without a class and names, those of the usual names that are known. */
export function specialTokens({ special, name: of_class }: TokenizerConfig, known: (token: string) => boolean): NamedTokens {
  if (of_class || Object.values(special).some((token) => token !== undefined)) return special;
  const found: NamedTokens = {};
  for (const name of kSpecialTokens) found[name] = kUsual[name].find(known);
  // RoBERTa has a mask, unlike others that have both.
  if (found.mask_token === '<mask>') [found.cls_token, found.sep_token] = [found.bos_token, found.eos_token];
  return found;
}

function toSide(name: string, value: unknown): 'left' | 'right' {
  if (value === undefined || value === null) return 'right';
  if (value === 'left' || value === 'right') return value;
  throw new ModelFormatError(`${kConfig}: ${name}: expected 'left' or 'right', found ${JSON.stringify(value)}`);
}

/** Reads tokenizer_config.json from files, and what all of them say together. */
export function readTokenizerConfig(files: readonly NamedBytes[], facts: TokenizerAnswer): TokenizerConfig {
  const { name, extra, pads_left } = facts;
  const json = readFields(files, kConfig);
  const inputs = json.model_input_names;
  const own_side = pads_left ? 'left' : 'right';
  return {
    special: Object.fromEntries(
      kSpecialTokens.map((role) => [role, tokenOf(facts, role) ?? (name ? undefined : tokenText(json[role]))]),
    ),
    name,
    extra_special_tokens: extra,
    padding_side: toSide('padding_side', json.padding_side ?? own_side),
    own_side,
    truncation_side: toSide('truncation_side', json.truncation_side),
    clean_up_tokenization_spaces: json.clean_up_tokenization_spaces === true,
    type_ids: !Array.isArray(inputs) || inputs.includes('token_type_ids'),
  };
}
