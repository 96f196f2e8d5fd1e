// What engines and their adapters (adapters.ts) know of each other.
import type { SeamModel } from '../host/seam.js';
import type { PrefixInfo } from './types.js';
import type { NamedBytes } from '../source/model_files.js';

/** A change of a model's adapters. files: the adapter's. */
export type AdapterChange =
  { action: 'load'; name: string; files: readonly NamedBytes[] } | { action: 'delete' | 'merge'; name: string };

/** An adapter of a model in this thread. */
export interface HeldAdapter {
  number: number;
  /** The model's files, with the adapter's labels. */
  files: readonly NamedBytes[];
}

export interface Adapters {
  /** By name; undefined: in workers. */
  held: Map<string, HeldAdapter | undefined>;
  active: string | false;
  /** The one that enable_adapters() makes active again. */
  last: string | false;
  /** How many the checkpoint itself has. */
  own?: number;
}

/** An engine as its caller sees it. */
export interface AdaptedEngine {
  /** Undefined until an adapter is loaded. */
  adapters?: Adapters;
  adapt(change: AdapterChange): Promise<void>;
  dispose(): void;
}

/** An engine in this thread. */
export interface HostEngine {
  adapters?: Adapters;
  prefixes?: PrefixInfo | undefined;
  files: readonly NamedBytes[];
  readonly isOpen: boolean;
  call<A extends { code: number; message: string }>(run: (handle: SeamModel) => A): A;
  /** Asks for the memory of the weights again. */
  measure(): void;
}
