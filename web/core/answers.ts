// What callbacks of callers answer, which may be anything.
import { describe, InputError } from './errors.js';

/** Nobody waits for what a callback promised: a rejection must not end the process. */
function ignoreRejection(value: unknown): void {
  if (typeof value !== 'object' || value === null) return;
  if (value instanceof Promise) value.catch(() => {});
  else if (typeof (value as { then?: unknown }).then === 'function') Promise.resolve(value).catch(() => {});
}

/** What a callback answered, if it is of the kind that is used. what: names the option and says who was asked; an error begins with it. */
export function checkAnswer<T>(what: string, value: unknown, expected: string, fits: (value: unknown) => boolean): T {
  if (fits(value)) return value as T;
  ignoreRejection(value);
  throw new InputError(`${what}: expected it to return ${expected}, found ${describe(value)}`);
}

export const isBoolean = (value: unknown): boolean => typeof value === 'boolean';
export const isNumber = (value: unknown): boolean => typeof value === 'number' && !Number.isNaN(value);

/** Numbers in an array of our own: those of an array or a typed array, each read once. */
export function numbersOf(what: string, value: unknown, length: number): Float64Array {
  const isList = Array.isArray(value) || (ArrayBuffer.isView(value) && 'length' in value);
  const list = checkAnswer<ArrayLike<unknown>>(what, value, `${length} numbers`, () => isList);
  if (list.length !== length) throw new InputError(`${what}: expected it to return ${length} numbers, found ${list.length}`);
  return Float64Array.from({ length }, (_, i) => {
    const each = list[i];
    if (isNumber(each)) return each as number;
    throw new InputError(`${what}: expected it to return numbers, found ${describe(each)} at index ${i}`);
  });
}
