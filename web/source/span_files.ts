// Models of GLiNER without a tokenizer of their own. Loaded with the first of them.
import { ModelFormatError } from '../core/errors.js';
import { readJson, type NamedBytes } from './model_files.js';
import type { ModelSource } from './source.js';

/** The error for such a model: the package gliner takes what is missing from another repository. config: gliner_config.json. */
export function noTokenizer(source: ModelSource, config: readonly NamedBytes[]): ModelFormatError {
  const { model_name: name } = readJson(config, 'gliner_config.json') ?? {};
  const where = typeof name === 'string' && name !== '' ? `'${name}' (model_name of gliner_config.json)` : 'another repository';
  return new ModelFormatError(
    `tokenizer.json: expected a tokenizer in the model '${source.name}', found none: gliner takes it from ${where}, and adds tokens to it ` +
      'when it loads the model. Have gliner save the model once more (save_pretrained), and load that',
  );
}
