// transformers.js's logits processors: functions that read or change the scores before a token is chosen.
import { checkAnswer } from '../../core/answers.js';
import { describe, InputError, UnsupportedError } from '../../core/errors.js';
import { Tensor } from '../../core/tensor.js';

/**
 * Changes the next token's scores. Receives the ids so far of each text, including the prompt, and the scores, `[texts, vocab_size]`. Changes the scores
 * in place, or returns new ones.
 */
export type LogitsFunction = (input_ids: bigint[][], logits: Tensor<'float32'>) => Tensor<'float32'> | undefined | void;

/** Processors are called as functions, as in transformers.js. */
export interface LogitsProcessor extends LogitsFunction {}

/**
 * Base class of functions that change scores before a token is chosen. Override `_call`; instances are called as functions.
 *
 *     class NoComma extends LogitsProcessor {
 *       _call(input_ids, logits) {
 *         for (const row of logits) row.data[11] = -Infinity;
 *         return logits;
 *       }
 *     }
 *     await generate('Once upon a time', { logits_processor: new NoComma() });
 *
 * @example
 * class Shy extends LogitsProcessor {
 *   _call(_ids, logits) {
 *     logits.data[0] = -Infinity;
 *     return logits;
 *   }
 * }
 */
export class LogitsProcessor {
  constructor() {
    const call = ((...args: Parameters<LogitsFunction>) => (call as LogitsProcessor)._call(...args)) as unknown;
    return Object.setPrototypeOf(call, new.target.prototype);
  }
  /** Returns the scores to continue with, `[texts, vocab_size]`: the given tensor or a new one. */
  _call(_input_ids: bigint[][], _logits: Tensor<'float32'>): Tensor<'float32'> | undefined | void {
    throw new UnsupportedError('LogitsProcessor: expected a subclass with _call()');
  }
}

/**
 * A list of processors that run in order.
 *
 *     const processors = new LogitsProcessorList();
 *     processors.push(new NoComma());
 *
 * @example
 * const processors = new LogitsProcessorList();
 * processors.extend([(ids, logits) => logits]);
 */
export class LogitsProcessorList extends LogitsProcessor {
  /** The processors in the list. */
  processors: LogitsFunction[] = [];
  /** Appends a processor. */
  push(item: LogitsFunction): void {
    this.processors.push(item);
  }
  /** Appends several processors. */
  extend(items: readonly LogitsFunction[]): void {
    this.processors.push(...toProcessors('LogitsProcessorList.extend', items));
  }
  override _call(input_ids: bigint[][], logits: Tensor<'float32'>): Tensor<'float32'> {
    return this.processors.reduce((scores, each) => askProcessor(each, input_ids, scores), logits);
  }
  /** Iterates over the processors in order. */
  *[Symbol.iterator](): Generator<LogitsFunction, void, undefined> {
    yield* this.processors;
  }
}

/** What a processor makes of scores. */
export function askProcessor(processor: LogitsFunction, input_ids: bigint[][], logits: Tensor<'float32'>): Tensor<'float32'> {
  const fits = (value: unknown) =>
    value === undefined || (value instanceof Tensor && value.type === 'float32' && `${value.dims}` === `${logits.dims}`);
  const expected = `nothing, or a float32 Tensor [${logits.dims}]`;
  return checkAnswer("option 'logits_processor'", processor(input_ids, logits), expected, fits) ?? logits;
}

/** The functions of an option: one, several, or a list. */
export function toProcessors(where: string, given: unknown): LogitsFunction[] {
  const list: unknown[] = given instanceof LogitsProcessorList ? given.processors : Array.isArray(given) ? given : [given];
  const bad = list.findIndex((each) => typeof each !== 'function');
  if (bad >= 0)
    throw new InputError(`${where}: expected a LogitsProcessor, a function, or a list of them, found ${describe(list[bad])}`);
  return list as LogitsFunction[];
}
