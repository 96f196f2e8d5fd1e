// Where a model has no safetensors: pytorch_model.bin in their place, whole or in shards; else the error. Loaded when that is so.
import { concat } from '../core/texts.js';
import { checkSmall, missingFile, Progress, readOptional, readPieces, type ModelFiles, type NamedBytes, type WeightFile } from './model_files.js'; // prettier-ignore
import { noWeights } from './original.js';
import type { ModelSource, OpenFile } from './source.js';
import { openTorchFile } from './torch_file.js';

const kWeights = 'model.safetensors';
const kTorch = 'pytorch_model.bin';
const kIndex = '.index.json';

/** The .bin in the place of a model's or an adapter's .safetensors; undefined for other files. */
function torchName(name: string): string | undefined {
  if (/(^|\/)model\.safetensors$/.test(name)) return name.slice(0, -kWeights.length) + kTorch;
  return name === 'adapter_model.safetensors' ? 'adapter_model.bin' : undefined;
}

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

/** The .bin in the place of an absent file, whole, in the layout of safetensors. It may be as large as other files that are read whole. */
export async function readTorchFor(
  source: ModelSource,
  name: string,
  progress: Progress,
  signal: AbortSignal,
): Promise<Uint8Array> {
  const file = await openTorchFor(source, name, undefined, signal);
  progress.initiate(file.name);
  const { pieces, size } = await readPieces(file.open, signal, (bytes) => checkSmall(file.name, 'a file', bytes));
  progress.addWhole(file.name, size);
  progress.done(file.name);
  return concat(Uint8Array, pieces);
}

/** The size of the .bin in the place of a file; undefined if there is none, or it is unknown. */
export async function torchSize(source: ModelSource, name: string, signal: AbortSignal): Promise<number | undefined> {
  const torch = torchName(name);
  return torch === undefined ? undefined : source.size(torch, signal);
}
