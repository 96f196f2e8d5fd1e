// How long something takes.
import { median } from './numbers.js';

const kRounds = 9;

export async function timed<T>(run: () => Promise<T>): Promise<[result: T, ms: number]> {
  const start = performance.now();
  const result = await run();
  return [result, performance.now() - start];
}

/** The median of some runs, ms. */
export async function medianMs(run: () => Promise<unknown>): Promise<number> {
  const all = [];
  for (let round = 0; round < kRounds; ++round) all.push((await timed(run))[1]);
  return median(all);
}
