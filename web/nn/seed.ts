// One sequence of seeds for everything in nn that draws random numbers: parameters, dropout, rand and randn.
import { describe, InputError } from '../core/errors.js';

let next = 0;

/**
 * Sets the seed for modules, dropout and random tensors that are created without one. Each of them increments it.
 *
 * @example
 * nn.manual_seed(1);
 * const first = nn.rand(2).tolist();
 * nn.manual_seed(1);
 * String(nn.rand(2).tolist()) === String(first); // => true
 */
export function manual_seed(seed: number): void {
  if (!Number.isSafeInteger(seed) || seed < 0) {
    throw new InputError(`nn.manual_seed: expected a whole number from 0 on, found ${describe(seed)}`);
  }
  next = seed;
}

export const nextSeed = (): number => next++;
