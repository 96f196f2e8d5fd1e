// What callbacks of callers answer, which may be anything.
import { describe, InputError } from './errors.js';

/** What a callback answered, if it has the type that is used. what: names the option and says who was asked; an error begins with it. */
export function checkAnswer<T>(what: string, value: unknown, expected: string, fits: (value: unknown) => boolean): T {
  if (fits(value)) return value as T;
  Promise.resolve(value).catch(() => {}); // nobody waits for what it promised, and a rejection must not end the process
  throw new InputError(`${what}: expected it to return ${expected}, found ${describe(value)}`);
}
