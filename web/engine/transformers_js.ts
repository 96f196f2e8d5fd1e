// Options for loading under the names of transformers.js. Loaded with the first call that has one.
import { describe, InputError } from '../core/errors.js';
import { inOwnWords } from '../core/habits.js';
import { nearestOf } from '../core/options.js';
import { warnOnce } from '../core/warn.js';
import { isInside } from '../source/inside.js';
import type { WeightsAt } from '../source/weights_at.js';
import type { Dtype, LoadOptions } from './types.js';

/** Their data types, and ours that is nearest: no coarser, except for formats of fewer than four bits. */
const kDtypes: Record<string, Dtype | undefined> = {
  auto: undefined,
  fp32: 'f32',
  fp16: 'f16',
  int8: 'q8',
  uint8: 'q8',
  q4f16: 'q4',
  bnb4: 'q4',
  q2: 'q4',
  q2f16: 'q4',
  q1: 'q4',
  q1f16: 'q4',
};
/** From the most exact. */
const kOrder: readonly unknown[] = ['f32', 'f16', 'q16', 'q8', 'q4'];

/** Devices that are a CPU, and ours. */
const kHere = ['wasm', 'cpu', 'auto', 'webgpu', 'gpu'];
/** The others that transformers.js and PyTorch name. */
const kDevices = ['cuda', 'dml', 'coreml', 'mps', 'webnn', 'webnn-npu', 'webnn-gpu', 'webnn-cpu'];

/** One that neither library has is returned as it is: the caller's check refuses it. */
function dtypeOf(given: unknown): unknown {
  if (typeof given === 'string') return Object.hasOwn(kDtypes, given) ? kDtypes[given] : given;
  if (typeof given !== 'object' || given === null || Array.isArray(given)) return given ?? undefined;
  // One for each file: a model is loaded whole, so the most exact counts.
  const each = Object.values(given).map(dtypeOf);
  return each.find((dtype) => dtype !== undefined && !kOrder.includes(dtype)) ?? kOrder.find((dtype) => each.includes(dtype));
}

/** The options under wattn's names. Names that are unknown to both are left, for the caller to refuse. */
export function toLoadOptions(where: string, given: object): LoadOptions {
  const { quantized, dtype, device, subfolder, model_file_name, config, ...rest } = (inOwnWords('load', where, given) ??
    given) as Record<string, unknown>;
  const devices = typeof device === 'object' && device !== null ? Object.values(device) : [device ?? 'auto'];
  const others = devices.filter((each) => !kHere.includes(each as string));
  const unknown = others.find((each) => !kDevices.includes(String(each).replace(/:\d+$/, '')));
  if (unknown !== undefined) {
    const nearest = nearestOf(String(unknown), [...kHere, ...kDevices]);
    const hint = nearest === undefined ? '' : `; did you mean '${nearest}'?`;
    throw new InputError(
      `${where}: option 'device': expected one of '${[...kHere, ...kDevices].join("', '")}', found ${describe(unknown)}${hint}`,
    );
  }
  if (others.length > 0) warnOnce(`${where}: device '${others.join("', '")}': wattn runs on the CPU, in WebAssembly`);
  const chosen = dtypeOf(dtype ?? (quantized === true ? 'int8' : quantized === false ? 'fp32' : undefined));
  const asked = dtype !== undefined && dtype !== null ? dtype : quantized === true ? 'quantized' : undefined;
  const dtype_asked =
    asked === undefined || asked === chosen ? undefined : typeof asked === 'string' ? asked : JSON.stringify(asked);
  const path = (name: string, value: unknown): string => {
    if (typeof value === 'string' && isInside(value)) return value;
    throw new InputError(`${where}: option '${name}': expected a path inside the model, found ${describe(value)}`);
  };
  const at: WeightsAt = {
    ...(dtype_asked && { dtype_asked }),
    // 'onnx' is where their files are beside the original weights.
    ...(subfolder && subfolder !== 'onnx' ? { subfolder: path('subfolder', String(subfolder).replace(/\/$/, '')) } : {}),
    ...(model_file_name && model_file_name !== 'model' ? { model_file_name: path('model_file_name', model_file_name) } : {}),
    ...(config ? { config: config as Record<string, unknown> } : {}),
  };
  return {
    ...rest,
    ...(chosen ? { dtype: chosen as Dtype } : {}),
    ...(devices.some((each) => each === 'webgpu' || each === 'gpu') ? { device: 'webgpu' } : device === 'auto' && { device }),
    ...(Object.keys(at).length > 0 && { weights_at: at }),
  } as LoadOptions;
}
