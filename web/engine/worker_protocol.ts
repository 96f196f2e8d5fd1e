// The messages of worker mode: remote_engine.ts sends requests, serve_engine.ts answers them.
import type { env } from '../core/env.js';
import type { LoadedHead, SeamEmbedOptions } from '../host/seam.js';
import type { ModelSpecifier } from '../source/types.js';
import type { BatchRequest } from '../tokenizer/batch_protocol.js';
import type { AdapterChange } from './adapter_types.js';
import type { LoadOptions } from './types.js';

/** A request. Each is sent with an id, which its answer repeats. */
export type Request =
  | {
      type: 'load';
      where: string;
      model: ModelSpecifier;
      options: LoadOptions;
      head: LoadedHead;
      adaptedHead: boolean;
      idsOnly: boolean;
      env: Partial<typeof env>;
      progress: boolean;
    }
  | { type: 'adapt'; change: AdapterChange }
  | { type: 'embed'; texts: string[]; options: SeamEmbedOptions }
  | { type: 'task'; task: string; items: unknown[]; options: unknown; first: number; pieces: boolean }
  | { type: 'warmup' }
  | BatchRequest;
