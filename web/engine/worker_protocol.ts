// What the two sides of worker mode send each other: remote_engine.ts asks, entries/worker.ts answers.
import type { env } from '../core/env.js';
import type { HeadKind, SeamEmbedOptions } from '../host/seam.js';
import type { ModelSpecifier } from '../source/types.js';
import type { LoadOptions } from './types.js';

/** A request; each has a number that its answer carries. */
export type Request =
  | {
      type: 'load';
      where: string;
      model: ModelSpecifier;
      options: LoadOptions;
      head: HeadKind;
      env: Partial<typeof env>;
      progress: boolean;
    }
  | { type: 'embed'; texts: string[]; options: SeamEmbedOptions }
  | { type: 'task'; task: string; items: unknown[]; options: unknown; first: number; pieces: boolean }
  | { type: 'warmup' };

export interface Failure {
  name: string;
  message: string;
  url?: string | undefined;
  status?: number | undefined;
}
