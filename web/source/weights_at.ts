// A source whose weights are in another folder or under another name, and whose config.json is given: transformers.js's options for that.
import { openView } from './bytes_source.js';
import type { ModelSource } from './source.js';

/** What transformers.js's options say of a model's files, and the data type that they name if it is not one of wattn's. */
export interface WeightsAt {
  dtype_asked?: string;
  subfolder?: string;
  model_file_name?: string;
  config?: Record<string, unknown>;
}

const kWeights = /^(model|pytorch_model)(?=[-.].*\b(safetensors|bin)\b)/;

export function weightsAt(source: ModelSource, { subfolder, model_file_name, config }: WeightsAt): ModelSource {
  const given = config && openView(new TextEncoder().encode(JSON.stringify(config)));
  const placed = (file: string) => {
    if (!kWeights.test(file)) return file;
    const named = model_file_name ? file.replace(kWeights, model_file_name) : file;
    return subfolder ? `${subfolder}/${named}` : named;
  };
  return {
    name: source.name,
    phase: source.phase,
    open: async (file, signal) => (given && file === 'config.json' ? given : source.open(placed(file), signal)),
    size: async (file, signal) => source.size(placed(file), signal),
    place: (file) => source.place(placed(file)),
    ...(source.others && { others: source.others.bind(source) }),
    accepted: async () => source.accepted?.(),
    refused: async (error) => (await source.refused?.(error)) ?? false,
  };
}
