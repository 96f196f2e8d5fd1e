import type { AdapterConfig, AdapterLabels } from '../source/peft.js';
import type { TensorBase } from '../core/tensor_base.js';

export type { AdapterConfig, AdapterLabels };

/**
 * Creates the files of a LoRA adapter, for Python's PEFT and for `load_adapter`. `tensors` are float32, under the checkpoint's module names, as PEFT's
 * `LoraConfig` describes them. `labels` describe a classification head among them; they are written to a config.json, which PEFT ignores. Throws an
 * `InputError` if the tensors do not match the config.
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
