// The fields of tokenizer_config.json with the defaults of padding, truncation and decoding.
import { ModelFormatError } from '../core/errors.js';
import { readJson, specialToken, type NamedBytes } from '../source/model_files.js';

export interface TokenizerConfig {
  pad_token: string | undefined;
  padding_side: 'left' | 'right';
  truncation_side: 'left' | 'right';
  clean_up_tokenization_spaces: boolean;
  /** Whether the model takes token_type_ids. */
  type_ids: boolean;
}

const kFile = 'tokenizer_config.json';

function toSide(name: string, value: unknown): 'left' | 'right' {
  if (value === undefined || value === null) return 'right';
  if (value === 'left' || value === 'right') return value;
  throw new ModelFormatError(`${kFile}: ${name}: expected 'left' or 'right', found ${JSON.stringify(value)}`);
}

/** Reads tokenizer_config.json from files. Without it, Python's defaults apply. */
export function readTokenizerConfig(files: readonly NamedBytes[]): TokenizerConfig {
  const json = readJson(files, kFile) ?? {};
  const inputs = json.model_input_names;
  return {
    pad_token: specialToken(files, 'pad_token'),
    padding_side: toSide('padding_side', json.padding_side),
    truncation_side: toSide('truncation_side', json.truncation_side),
    clean_up_tokenization_spaces: json.clean_up_tokenization_spaces === true,
    type_ids: !Array.isArray(inputs) || inputs.includes('token_type_ids'),
  };
}
