// Paths that callers give and that files of a repository name: each is joined to the repository's own address.
import { describe, InputError, ModelFormatError } from '../core/errors.js';

/** A part of a path that leads elsewhere or nowhere. A server may decode what a URL has encoded. */
const kOutside = /^(\.|%2e){0,2}$|^[a-z]:|[\\\0]|%(2f|5c)/i;

/** Whether a path stays in the folder that it is joined to, on every disk and server: `1_Pooling`, `onnx/model.safetensors`. */
export const isInside = (path: string): boolean => !path.split('/').some((part) => kOutside.test(part));

/** A path of the caller. where: the option. */
export function checkInside(where: string, path: unknown): string {
  if (typeof path === 'string' && isInside(path)) return path;
  throw new InputError(`${where}: expected a path inside the model, found ${describe(path)}`);
}

/** What every source asks of every file. */
export function insideModel(file: string): string {
  if (isInside(file)) return file;
  throw new ModelFormatError(`expected a path inside the model, found '${file}'`);
}
