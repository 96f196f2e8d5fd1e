import type { AdapterConfig, AdapterLabels } from '../source/peft.js';
import type { TensorBase } from '../core/tensor_base.js';

export type { AdapterConfig, AdapterLabels };

/**
 * The files of a LoRA adapter, for Python's PEFT and for `load_adapter`. tensors: float32, by the checkpoint's names of modules, as
 * PEFT's `LoraConfig` describes them. labels: what a classification head among them gives; for a config.json that PEFT ignores. An
 * `InputError` if the tensors do not fit the config.
 *
 *     const module = 'bert.encoder.layer.0.attention.self.query';
 *     const files = await save_adapter(
 *       { [`${module}.lora_A.weight`]: a, [`${module}.lora_B.weight`]: b }, // [r, in] and [out, r]
 *       { r: 8, lora_alpha: 16, target_modules: ['query'] },
 *     );
 *     for (const [name, bytes] of files) await writeFile(`out/${name}`, bytes);
 *
 * @example
 * const lora_A = new Tensor('float32', new Float32Array(2 * 32), [2, 32]);
 * const lora_B = new Tensor('float32', new Float32Array(32 * 2), [32, 2]);
 * const name = 'encoder.layer.0.attention.self.query';
 * const files = await save_adapter({ [`${name}.lora_A.weight`]: lora_A, [`${name}.lora_B.weight`]: lora_B }, { r: 2, target_modules: ['query'] });
 */
export async function save_adapter(
  tensors: Readonly<Record<string, TensorBase>>,
  config: AdapterConfig,
  labels?: AdapterLabels,
): Promise<Map<string, Uint8Array>> {
  return (await import('../source/peft.js')).save_adapter(tensors, config, labels);
}
