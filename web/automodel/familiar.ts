// Classes that programs for transformers.js name as values: to test with instanceof what wattn made, and to load without an Auto class.
import { ModelFormatError, NetworkError } from '../core/errors.js';
import { cache } from '../source/cached_files.js';
import { AutoTokenizer } from '../tokenizer/tokenizer.js';
import type { Tokenizer } from '../tokenizer/types.js';
import type { Pipelines } from '../tasks/task_types.js';
import { AutoConfig } from './auto_config.js';
import type { AnyModel } from './familiar_types.js';
import { AutoModel } from './model.js';

// By what they have, not by their class: each copy of the code in a realm recognises what the others made.
const has = (value: unknown, ...names: string[]): boolean =>
  value !== null && (typeof value === 'object' || typeof value === 'function') && names.every((name) => name in value);

const isPipeline = (task: string) => (value: unknown) =>
  has(value, 'task', 'info', 'dispose') && (value as { task: string }).task === task;

/**
 * Any loaded model: the result of `AutoModel..from_pretrained`, or the member `model` of a pipeline. For `instanceof`.
 *
 * @example
 * const model = await AutoModel.from_pretrained();
 * model instanceof PreTrainedModel; // => true
 */
export class PreTrainedModel {
  /** `instanceof` is true for any loaded model. */
  static [Symbol.hasInstance](value: unknown): boolean {
    return has(value, 'config', 'dispose') && !has(value, 'task');
  }
  /** The same as `AutoModel.from_pretrained`. */
  static from_pretrained(...args: Parameters<typeof AutoModel.from_pretrained>): Promise<AnyModel> {
    return AutoModel.from_pretrained(...args) as Promise<AnyModel>;
  }
}
/** A loaded model. */
export interface PreTrainedModel extends AnyModel {}

/**
 * Any loaded tokenizer, for `instanceof`.
 *
 * @example
 * const tokenizer = await AutoTokenizer.from_pretrained();
 * tokenizer instanceof PreTrainedTokenizer; // => true
 */
export class PreTrainedTokenizer {
  /** `instanceof` is true for any loaded tokenizer. */
  static [Symbol.hasInstance](value: unknown): boolean {
    return has(value, 'batch_decode', 'convert_tokens_to_ids');
  }
  /** The same as `AutoTokenizer.from_pretrained`. */
  static from_pretrained(...args: Parameters<typeof AutoTokenizer.from_pretrained>): Promise<Tokenizer> {
    return AutoTokenizer.from_pretrained(...args);
  }
}
/** A loaded tokenizer. */
export interface PreTrainedTokenizer extends Tokenizer {}

/** Another name of `PreTrainedTokenizer`. */
export type TokenizersBackend = PreTrainedTokenizer;
/**
 * Another name of `PreTrainedTokenizer`.
 *
 * @example
 * (await AutoTokenizer.from_pretrained()) instanceof TokenizersBackend; // => true
 */
export const TokenizersBackend = PreTrainedTokenizer;

/**
 * The contents of a config.json.
 *
 * @example
 * const model = await AutoModel.from_pretrained();
 * model.config instanceof PretrainedConfig; // => true
 */
export class PretrainedConfig {
  [field: string]: any;
  /** `instanceof` is true for the contents of a config.json. */
  static [Symbol.hasInstance](value: unknown): boolean {
    return has(value, 'model_type');
  }
  /** The same as `AutoConfig.from_pretrained`. */
  static from_pretrained(...args: Parameters<typeof AutoConfig.from_pretrained>): Promise<Record<string, any>> {
    return AutoConfig.from_pretrained(...args);
  }
}

/**
 * The errors thrown when a model, or one of its files, does not exist. For `instanceof`.
 *
 * @example
 * try {
 *   await AutoModel.from_pretrained({ 'tokenizer.json': new Uint8Array(3) }); // without config.json
 * } catch (error) {
 *   error instanceof ModelFileNotFoundError; // => true
 * }
 */
export class ModelFileNotFoundError extends Error {
  /** `instanceof` is true for a `ModelFormatError`, and for a `NetworkError` with status 404. */
  static override [Symbol.hasInstance](error: unknown): boolean {
    return error instanceof ModelFormatError || (error instanceof NetworkError && error.status === 404);
  }
}

/**
 * Queries and clears the cache of downloaded models.
 *
 * @example
 * (await ModelRegistry.get_available_dtypes()).length; // => 4
 */
export class ModelRegistry {
  /** Resolves to `true` if the model can be loaded without a network. */
  static is_cached(model: string): Promise<boolean> {
    return cache.has(model);
  }
  /** Deletes all cached files of a model. */
  static async clear_cache(model: string): Promise<void> {
    await cache.delete(model);
  }
  /** All data types of wattn, for any model: weights are converted while they load. */
  static async get_available_dtypes(_model?: string): Promise<string[]> {
    return ['fp32', 'fp16', 'q8', 'q4'];
  }
}

/** The pipeline of `'feature-extraction'`. */
export type FeatureExtractionPipeline = Pipelines['feature-extraction'];
/** For `instanceof`. */
export const FeatureExtractionPipeline = { [Symbol.hasInstance]: isPipeline('feature-extraction') };
/** The pipeline of `'text-classification'`. */
export type TextClassificationPipeline = Pipelines['text-classification'];
/** For `instanceof`. */
export const TextClassificationPipeline = { [Symbol.hasInstance]: isPipeline('text-classification') };
/** The pipeline of `'token-classification'`. */
export type TokenClassificationPipeline = Pipelines['token-classification'];
/** For `instanceof`. */
export const TokenClassificationPipeline = { [Symbol.hasInstance]: isPipeline('token-classification') };
/** The pipeline of `'question-answering'`. */
export type QuestionAnsweringPipeline = Pipelines['question-answering'];
/** For `instanceof`. */
export const QuestionAnsweringPipeline = { [Symbol.hasInstance]: isPipeline('question-answering') };
/** The pipeline of `'fill-mask'`. */
export type FillMaskPipeline = Pipelines['fill-mask'];
/** For `instanceof`. */
export const FillMaskPipeline = { [Symbol.hasInstance]: isPipeline('fill-mask') };
/** The pipeline of `'summarization'`. */
export type SummarizationPipeline = Pipelines['summarization'];
/** For `instanceof`. */
export const SummarizationPipeline = { [Symbol.hasInstance]: isPipeline('summarization') };
/** The pipeline of `'translation'`. */
export type TranslationPipeline = Pipelines['translation'];
/** For `instanceof`. */
export const TranslationPipeline = { [Symbol.hasInstance]: isPipeline('translation') };
/** The pipeline of `'text2text-generation'`. */
export type Text2TextGenerationPipeline = Pipelines['text2text-generation'];
/** For `instanceof`. */
export const Text2TextGenerationPipeline = { [Symbol.hasInstance]: isPipeline('text2text-generation') };
/** The pipeline of `'text-generation'`. */
export type TextGenerationPipeline = Pipelines['text-generation'];
/** For `instanceof`. */
export const TextGenerationPipeline = { [Symbol.hasInstance]: isPipeline('text-generation') };
/** The pipeline of `'zero-shot-classification'`. */
export type ZeroShotClassificationPipeline = Pipelines['zero-shot-classification'];
/** For `instanceof`. */
export const ZeroShotClassificationPipeline = { [Symbol.hasInstance]: isPipeline('zero-shot-classification') };
