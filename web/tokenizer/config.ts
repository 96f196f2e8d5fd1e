// The fields of tokenizer_config.json with the defaults of padding, truncation and decoding.
import { ModelFormatError } from '../core/errors.js';
import { readFields, tokenText, type NamedBytes } from '../source/model_files.js';

/** The named special tokens, in the order of Python's all_special_tokens. */
export const kSpecialTokens = ['bos_token', 'eos_token', 'unk_token', 'sep_token', 'pad_token', 'cls_token', 'mask_token'] as const;

export type SpecialToken = (typeof kSpecialTokens)[number];

export type NamedTokens = { [name in SpecialToken]?: string | undefined };

export interface TokenizerConfig {
  special: NamedTokens;
  /** Special tokens without a name. */
  extra_special_tokens: string[];
  padding_side: 'left' | 'right';
  truncation_side: 'left' | 'right';
  clean_up_tokenization_spaces: boolean;
  /** Whether the model takes token_type_ids. */
  type_ids: boolean;
}

export const kConfig = 'tokenizer_config.json';

/** What the tokens are called where no file names them: those of BERT, RoBERTa, T5, Llama, GPT-2 and Llama 3, whose names Python has in its classes. */
const kUsual: { [name in SpecialToken]: readonly string[] } = {
  bos_token: ['<s>', '<|endoftext|>', '<|begin_of_text|>'],
  eos_token: ['</s>', '<|endoftext|>', '<|end_of_text|>'],
  unk_token: ['[UNK]', '<unk>', '<|endoftext|>'],
  sep_token: ['[SEP]'],
  pad_token: ['[PAD]', '<pad>'],
  cls_token: ['[CLS]'],
  mask_token: ['[MASK]', '<mask>'],
};

/** The special tokens that tokenizer_config.json names; if it names none, those of the usual names that are known. */
export function specialTokens({ special }: TokenizerConfig, known: (token: string) => boolean): NamedTokens {
  if (Object.values(special).some((token) => token !== undefined)) return special;
  const found: NamedTokens = {};
  for (const name of kSpecialTokens) found[name] = kUsual[name].find(known);
  // Of those that have both, RoBERTa has a mask.
  if (found.mask_token === '<mask>') [found.cls_token, found.sep_token] = [found.bos_token, found.eos_token];
  return found;
}

function toSide(name: string, value: unknown): 'left' | 'right' {
  if (value === undefined || value === null) return 'right';
  if (value === 'left' || value === 'right') return value;
  throw new ModelFormatError(`${kConfig}: ${name}: expected 'left' or 'right', found ${JSON.stringify(value)}`);
}

/** Reads tokenizer_config.json from files. Without it, Python's defaults apply. */
export function readTokenizerConfig(files: readonly NamedBytes[]): TokenizerConfig {
  const json = readFields(files, kConfig);
  const inputs = json.model_input_names;
  const extra = json.extra_special_tokens ?? json.additional_special_tokens;
  return {
    special: Object.fromEntries(kSpecialTokens.map((name) => [name, tokenText(json[name])])),
    extra_special_tokens: Array.isArray(extra) ? extra.map(tokenText).filter((text) => text !== undefined) : [],
    padding_side: toSide('padding_side', json.padding_side),
    truncation_side: toSide('truncation_side', json.truncation_side),
    clean_up_tokenization_spaces: json.clean_up_tokenization_spaces === true,
    type_ids: !Array.isArray(inputs) || inputs.includes('token_type_ids'),
  };
}
