// Where a model has no safetensors: pytorch_model.bin in their place, whole or in shards; else the error. Loaded when that is so.
import { missingFile, Progress, readOptional, type ModelFiles, type NamedBytes, type WeightFile } from './model_files.js';
import { noWeights } from './original.js';
import type { ModelSource, OpenFile } from './source.js';
import { openTorchFile } from './torch_file.js';

const kWeights = 'model.safetensors';
const kTorch = 'pytorch_model.bin';
const kIndex = '.index.json';

/** pytorch_model.bin in the folder of a model.safetensors; undefined for other files. */
const torchName = (name: string) => (/(^|\/)model\.safetensors$/.test(name) ? name.slice(0, -kWeights.length) + kTorch : undefined);

/** A .bin in the layout of safetensors. */
const present = async (source: ModelSource, name: string, open: OpenFile): Promise<WeightFile> => ({
  name,
  open: await openTorchFile(name, source.place(name), open),
});

/** The weights of a model that has neither model.safetensors nor its index. */
export async function openTorchWeights(
  source: ModelSource,
  progress: Progress,
  signal: AbortSignal,
): Promise<{ single: ModelFiles['single']; index: NamedBytes[] }> {
  const open = await source.open(kTorch, signal);
  if (open) return { single: await present(source, kTorch, open), index: [] };
  const index = await readOptional(source, kTorch + kIndex, progress, signal);
  if (index.length > 0) return { single: undefined, index };
  const missing = missingFile(source, kWeights, kWeights + kIndex, kTorch, kTorch + kIndex);
  const silent = new Progress(source, undefined);
  const read = async (file: string) => new TextDecoder().decode((await readOptional(source, file, silent, signal))[0]?.[1]);
  throw await noWeights(source, signal, missing, read);
}

/** A weight file that is a .bin, or that is absent and may have one in its place. */
export async function openTorchFor(
  source: ModelSource,
  name: string,
  open: OpenFile | undefined,
  signal: AbortSignal,
): Promise<WeightFile> {
  if (open) return present(source, name, open);
  const torch = torchName(name);
  const other = torch === undefined ? undefined : await source.open(torch, signal);
  if (torch !== undefined && other) return present(source, torch, other);
  throw missingFile(source, name, ...(torch === undefined ? [] : [torch]));
}

/** The size of the .bin in the place of a file; undefined if there is none, or it is unknown. */
export async function torchSize(source: ModelSource, name: string, signal: AbortSignal): Promise<number | undefined> {
  const torch = torchName(name);
  return torch === undefined ? undefined : source.size(torch, signal);
}
