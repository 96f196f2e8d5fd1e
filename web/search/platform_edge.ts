// The stores of the edge, used instead of platform.ts: none but memory. What is kept is kept in a store that the program gives (given_store.ts).
import { InputError } from '../core/errors.js';
import { memoryStore, type SegmentStore } from './stores.js';

const kRemedy = "expected an R2 bucket, a Durable Object's storage, a KV namespace, a store of your own, or 'memory'";

/** The store of an index. */
export async function openStore(name: string, kind: string | undefined): Promise<SegmentStore> {
  if (kind === 'memory') return memoryStore();
  throw new InputError(`Index: '${name}' cannot be kept here without the option 'store': ${kRemedy}, found ${kind === undefined ? 'none' : `'${kind}'`}`); // prettier-ignore
}

/** The names of the indexes that are kept in this kind of store. */
export async function listIndexes(kind: string | undefined): Promise<{ name: string; store: string }[]> {
  if (kind === 'memory') return [];
  throw new InputError(`Index: option 'store': ${kRemedy}, found ${kind === undefined ? 'none' : `'${kind}'`}`);
}
