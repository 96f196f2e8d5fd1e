// What a Trainer saves of an adapter: PEFT's files.
import { Tensor } from '../core/tensor.js';
import type { readConfig } from '../engine/labels.js';
import { save_adapter, type AdapterConfig, type AdapterLabels } from '../source/peft.js';
import { saveSealed } from '../source/sealed.js';
import type { ModelSpecifier } from '../source/types.js';
import type { SeamBegun, SeamNamedTensor } from './train_files.js';
import type { Settings } from './trainer_options.js';

/** The model that was loaded, as an adapter's base. */
export type Origin = Pick<AdapterConfig, 'base_model_name_or_path' | 'revision'>;

/** By a hub id or a folder: files in memory, URLs and GGUF files are none to Python. */
export function originOf(model: ModelSpecifier | null, revision: string | null | undefined): Origin {
  if (typeof model !== 'string' || /^[a-z]{2,}:|:[^/\\]+$|\.gguf$/i.test(model)) return {};
  return { base_model_name_or_path: model, ...(revision && { revision }) };
}

/** adapted: what the engine says of the adapter. config: config.json. */
interface Adapted {
  adapted: SeamBegun;
  origin: Origin;
  isHead: boolean;
  config: ReturnType<typeof readConfig>;
}

/** LoRA's matrices, and modules that are saved whole, as PEFT has them. */
export function adapterFiles(
  tensors: readonly SeamNamedTensor[],
  settings: Settings,
  { adapted, origin, isHead, config }: Adapted,
): Promise<Map<string, Uint8Array>> {
  const { r = 8, lora_alpha = 2 * r, lora_dropout = 0, bias = 'none', task } = settings;
  const { use_rslora = false, use_dora = false } = settings;
  const { target_modules: targets, excluded_modules: excluded, head_modules: heads, fan_in_fan_out } = adapted;
  const task_type = {
    'text-classification': 'SEQ_CLS',
    'token-classification': 'TOKEN_CLS',
    'text-generation': 'CAUSAL_LM',
    'text2text-generation': 'SEQ_2_SEQ_LM',
    'feature-extraction': 'FEATURE_EXTRACTION',
  }[isHead ? task : 'feature-extraction'];
  const target_modules = targets[0] === 'all-linear' ? 'all-linear' : targets;
  const whole = [...new Set([...(settings.modules_to_save ?? []), ...heads])];
  const modules_to_save = whole.length > 0 ? whole : null;
  const { id2label, problem_type } = heads.length > 0 ? config : {};
  return save_adapter(
    Object.fromEntries(tensors.map(({ name, dims, data }) => [name, new Tensor('float32', data, dims)])),
    {
      ...{ r, lora_alpha, use_rslora, use_dora, lora_dropout, bias, target_modules, modules_to_save, task_type },
      ...(excluded.length > 0 && { exclude_modules: excluded }),
      ...(fan_in_fan_out && { fan_in_fan_out }),
      ...(adapted.ties_embeddings && { ensure_weight_tying: true }),
      ...origin,
    } as AdapterConfig,
    { ...(id2label && { id2label }), ...(problem_type && { problem_type }) } as AdapterLabels,
  );
}

export const toSafetensors = (tensors: readonly SeamNamedTensor[]): Promise<Uint8Array> =>
  saveSealed(Object.fromEntries(tensors.map(({ name, dims, data }) => [name, new Tensor('float32', data, dims)])), {
    format: 'pt',
  });
