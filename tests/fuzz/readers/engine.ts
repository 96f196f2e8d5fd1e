// What TypeScript and the engine read together, by the package as it ships.
import type { Target } from './target.js';

export async function engine(): Promise<Target[]> {
  return [];
}
