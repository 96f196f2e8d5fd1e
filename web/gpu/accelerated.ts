// The way to a GPU, which the engine loads when it is asked for one.
import type { Accelerator, Owner } from './accelerator.js';
import { TextAccelerator } from './texts.js';
import { TokenAccelerator } from './tokens.js';
import type { LoadedHead, ModelFacts } from '../host/seam.js';

interface LoadedModel extends Owner {
  readonly info: ModelFacts & { dtype: string };
}

interface Wanted {
  device: 'webgpu' | 'auto';
  /** As it was asked for. */
  head: LoadedHead;
  kv_cache_dtype?: string | null | undefined;
  /** It reads no texts, and may have no tokenizer. */
  idsOnly: boolean;
}

/** The accelerator of a loaded model. ready: its threads have started. */
export function accelerated(engine: LoadedModel, wanted: Wanted, ready: Promise<void>): Promise<Accelerator> {
  const { dtype, model_type, hidden_size, num_hidden_layers, vocab_size: vocab } = engine.info;
  const { device, head, kv_cache_dtype, idsOnly } = wanted;
  const key = [model_type, dtype, hidden_size, num_hidden_layers, head].join(' ');
  const how = { auto: device === 'auto', dtype, key, q8Keys: kv_cache_dtype === 'q8', vocab, idsOnly };
  const made =
    head === 'causal_lm' ? new TokenAccelerator(engine, how) : new TextAccelerator(engine, how, head === 'none' ? ['mean'] : []);
  return made.begin(ready);
}
