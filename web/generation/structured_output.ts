// transformers.js's name for what `response_format` is.
import type { ResponseFormat } from './response_format.js';

/**
 * A constraint in the form of `@huggingface/transformers-structured-output`. Pass it to `model.generate` as `logits_processor`; it works like
 * `response_format`.
 *
 *     const logits_processor = new StructuredOutputProcessor(tokenizer, { type: 'json_schema', json_schema });
 *     const ids = await model.generate({ ...tokenizer('Ada is'), logits_processor });
 *
 * @example
 * const processor = new StructuredOutputProcessor(null, { type: 'regex', regex: '[a-c]{3}' });
 */
export class StructuredOutputProcessor {
  /** The format that it enforces. */
  readonly format: ResponseFormat;
  /** `tokenizer` is ignored: the model uses its own. */
  constructor(_tokenizer: unknown, format: ResponseFormat) {
    this.format = format;
  }
}
