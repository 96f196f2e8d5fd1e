// transformers.js's stopping criteria: functions of the tokens so far that say which texts end.
import { checkAnswer } from '../core/answers.js';
import { describe, InputError, UnsupportedError } from '../core/errors.js';

/** Decides whether texts end. Receives the ids so far of each text, including the prompt, and returns one boolean per text. */
export type StoppingFunction = (input_ids: bigint[][], scores: number[][]) => readonly boolean[];

/** Criteria are called as functions, as in transformers.js. */
export interface StoppingCriteria extends StoppingFunction {}

/**
 * Base class of functions that decide after each token whether a text ends. Override `_call`; instances are called as functions.
 *
 *     class Sentence extends StoppingCriteria {
 *       _call(input_ids) {
 *         return input_ids.map((ids) => ids.at(-1) === 18n);
 *       }
 *     }
 *     await generate('Once upon a time', { stopping_criteria: new Sentence() });
 *
 * @example
 * class Short extends StoppingCriteria {
 *   _call(ids) {
 *     return ids.map((each) => each.length > 20);
 *   }
 * }
 */
export class StoppingCriteria {
  constructor() {
    const call = ((...args: Parameters<StoppingFunction>) => (call as StoppingCriteria)._call(...args)) as unknown;
    return Object.setPrototypeOf(call, new.target.prototype);
  }
  /** Returns one boolean per text: whether it ends. Reading `scores` throws an `UnsupportedError`. */
  _call(_input_ids: bigint[][], _scores: number[][]): readonly boolean[] {
    throw new UnsupportedError('StoppingCriteria: expected a subclass with _call()');
  }
}

/**
 * Ends texts at a number of tokens, including the prompt. `new MaxLengthCriteria(100)`
 *
 * @example
 * const criteria = new MaxLengthCriteria(20);
 */
export class MaxLengthCriteria extends StoppingCriteria {
  /** Maximum tokens, including the prompt. */
  max_length: number;
  constructor(max_length: number, _max_position_embeddings?: number | null) {
    super();
    this.max_length = max_length;
  }
  override _call(input_ids: bigint[][]): boolean[] {
    return input_ids.map(({ length }) => length >= this.max_length);
  }
}

/**
 * Ends texts at one of these tokens. `new EosTokenCriteria(tokenizer.eos_token_id)`
 *
 * @example
 * const criteria = new EosTokenCriteria(2);
 */
export class EosTokenCriteria extends StoppingCriteria {
  /** The ids that end a text. */
  eos_token_id: (number | bigint)[];
  constructor(eos_token_id: number | bigint | readonly (number | bigint)[]) {
    super();
    this.eos_token_id = [eos_token_id].flat() as (number | bigint)[];
  }
  override _call(input_ids: bigint[][]): boolean[] {
    return input_ids.map((ids) => this.eos_token_id.some((id) => Number(id) === Number(ids.at(-1))));
  }
}

/**
 * Ends all texts once `interrupt()` is called, for example from a button. The text so far is the result.
 *
 *     const stop = new InterruptableStoppingCriteria();
 *     button.onclick = () => stop.interrupt();
 *     await generate(messages, { stopping_criteria: stop });
 *     stop.reset(); // before the next text
 *
 * @example
 * const stopping_criteria = new InterruptableStoppingCriteria();
 * stopping_criteria.interrupt(); // a generation with it ends
 */
export class InterruptableStoppingCriteria extends StoppingCriteria {
  /** Whether texts are ended. */
  interrupted = false;
  /** Ends all texts at the next token. */
  interrupt(): void {
    this.interrupted = true;
  }
  /** Allows generation again. */
  reset(): void {
    this.interrupted = false;
  }
  override _call(input_ids: bigint[][]): boolean[] {
    return input_ids.map(() => this.interrupted);
  }
}

/**
 * A list of criteria. A text ends if one of them says so.
 *
 *     const criteria = new StoppingCriteriaList();
 *     criteria.extend([new MaxLengthCriteria(100), stop]);
 *
 * @example
 * const list = new StoppingCriteriaList();
 * list.push(new InterruptableStoppingCriteria());
 */
export class StoppingCriteriaList extends StoppingCriteria {
  /** The criteria in the list. */
  criteria: StoppingFunction[] = [];
  /** Appends a criterion. */
  push(item: StoppingFunction): void {
    this.criteria.push(item);
  }
  /** Appends one criterion, several, or those of another list. */
  extend(items: StoppingFunction | readonly StoppingFunction[]): void {
    this.criteria.push(...toCriteria('StoppingCriteriaList.extend', items));
  }
  override _call(input_ids: bigint[][], scores: number[][]): boolean[] {
    const said = this.criteria.map((criterion) => askCriterion(criterion, input_ids, scores));
    return input_ids.map((_, i) => said.some((each) => each[i]));
  }
  /** Iterates over the criteria in order. */
  *[Symbol.iterator](): Generator<StoppingFunction, void, undefined> {
    yield* this.criteria;
  }
}

/** What a criterion says of each text. */
export function askCriterion(criterion: StoppingFunction, input_ids: bigint[][], scores: number[][]): readonly boolean[] {
  const fits = (value: unknown) =>
    Array.isArray(value) && value.length >= input_ids.length && value.every((each) => typeof each === 'boolean');
  return checkAnswer(
    "option 'stopping_criteria'",
    criterion(input_ids, scores),
    'an array of true or false, one for each text',
    fits,
  );
}

/** The criteria of an option: a function, several, or a list. */
export function toCriteria(where: string, given: unknown): StoppingFunction[] {
  const list = given instanceof StoppingCriteriaList ? given.criteria : Array.isArray(given) ? given : [given];
  const bad = list.findIndex((each) => typeof each !== 'function');
  if (bad >= 0) throw new InputError(`${where}: expected a StoppingCriteria or a list of them, found ${describe(list[bad])}`);
  return list as StoppingFunction[];
}
