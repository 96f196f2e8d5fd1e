// Shared by both sides of tools/mutate.mjs.
import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { root } from './shell.mjs';

export function filesOf(folder) {
  const names = readdirSync(join(root, folder), { recursive: true }).map((name) => join(folder, name));
  return names.filter((name) => statSync(join(root, name)).isFile());
}

/** A generator of numbers in [0, 1) from a seed (mulberry32). */
export function randomOf(seed) {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let x = Math.imul(state ^ (state >>> 15), 1 | state);
    x = (x + Math.imul(x ^ (x >>> 7), 61 | x)) ^ x;
    return ((x ^ (x >>> 14)) >>> 0) / 4294967296;
  };
}

/** What a test may take: processor time, which other programs on the machine do not change, and for one that only waits the clock's. Seconds. */
export const limits = (seconds) => ({ cpu: Math.ceil(seconds), wall: Math.ceil(5 * seconds) });
