// Options of generation that are functions or models: they stay on the caller's thread, so the model has to be there too.
import { describe, InputError, UnsupportedError } from '../core/errors.js';
import { engineOf } from '../engine/loaded.js';
import type { TaskEngine } from '../engine/task.js';
import { toProcessors, type LogitsFunction } from './rows/logits_processor.js';
import { StructuredOutputProcessor } from './structured_output.js';

export interface CallersOptions {
  logits_processor?: readonly LogitsFunction[];
  assistant?: TaskEngine;
  /** The format of a StructuredOutputProcessor. */
  response_format?: unknown;
}

const isHere = (engine: unknown): engine is TaskEngine => typeof Object(engine).call === 'function';

/** The model of a pipeline or an AutoModel, which writes with the same tokenizer. */
function assistantOf(given: unknown): TaskEngine {
  const engine = typeof given === 'function' || typeof given === 'object' ? engineOf(given as object) : undefined;
  const name = "generate: option 'assistant_model': expected ";
  if (!engine) throw new InputError(`${name}a text-generation pipeline or an AutoModelForCausalLM, found ${describe(given)}`);
  if (!isHere(engine)) throw new UnsupportedError(`${name}a model without the option worker: both models take turns on one thread`);
  if (engine.info.head !== 'causal_lm') throw new InputError(`${name}a decoder with a language-model head, found a model without`);
  return engine as unknown as TaskEngine;
}

/** Those of a call. engine: the one that runs it. */
export function callersOptions(
  engine: unknown,
  { logits_processor, assistant_model }: { logits_processor?: unknown; assistant_model?: unknown },
): CallersOptions {
  const list: unknown[] = logits_processor == null ? [] : Array.isArray(logits_processor) ? logits_processor : [logits_processor];
  const formats = list.flatMap((each) => (each instanceof StructuredOutputProcessor ? [each.format] : []));
  const functions = list
    .filter((each) => !(each instanceof StructuredOutputProcessor))
    .flatMap((each) => toProcessors("generate: option 'logits_processor'", each));
  if (formats.length > 1)
    throw new InputError("generate: option 'logits_processor': expected one StructuredOutputProcessor, found more");
  const where = functions.length > 0 ? 'logits_processor' : assistant_model ? 'assistant_model' : undefined;
  if (where && !isHere(engine)) {
    throw new UnsupportedError(
      `generate: option '${where}': expected a model without the option worker, as it is used between two tokens`,
    );
  }
  return {
    ...(functions.length > 0 && { logits_processor: functions }),
    ...(assistant_model ? { assistant: assistantOf(assistant_model) } : {}),
    ...(formats.length > 0 && { response_format: formats[0] }),
  };
}

/** What the engines' tokenizers have to agree on, for an error that names it. */
export function checkAssistant(engine: TaskEngine, assistant: TaskEngine): void {
  const sizes = [engine, assistant].map((each) => each.call((handle) => handle.info()).vocab_size);
  const probe = ' The 3 quick brown foxes — 狐, naïve!\n';
  const ids = [engine, assistant].map((each) =>
    each.call((handle) => handle.encode([probe], undefined, { add_special_tokens: false })).ids.join(),
  );
  if (ids[0] === ids[1]) return;
  throw new InputError(
    `generate: option 'assistant_model': expected a model of the same tokenizer, found one of another (vocabularies of ${sizes[0]} and ${sizes[1]})`,
  );
}
