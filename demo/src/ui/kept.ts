// State that outlives its component: what a person typed is still there after a change of model.
import { useState } from 'preact/hooks';

const kept = new Map<string, unknown>();

/** As useState; one value for each name on the page. */
export function useKept<T>(name: string, initial: () => T): [T, (next: T) => void] {
  const [value, setValue] = useState(() => (kept.has(name) ? (kept.get(name) as T) : initial()));
  const keep = (next: T) => {
    kept.set(name, next);
    setValue(() => next);
  };
  return [value, keep];
}
