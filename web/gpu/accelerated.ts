// The way to a GPU, which the engine loads when it is asked for one.
import { Accelerator, type Owner } from './accelerator.js';
import type { ModelFacts } from '../host/seam.js';

interface LoadedModel extends Owner {
  readonly info: ModelFacts & { dtype: string };
}

/** The accelerator of a model that was loaded for vectors. ready: its threads have started. */
export function accelerated(engine: LoadedModel, device: 'webgpu' | 'auto', ready: Promise<void>): Promise<Accelerator> {
  const { dtype, head, model_type, hidden_size, num_hidden_layers } = engine.info;
  const key = [model_type, dtype, hidden_size, num_hidden_layers].join(' ');
  return Accelerator.make(engine, { auto: device === 'auto', dtype, key, modes: head === 'none' ? ['mean'] : [] }, ready);
}
