// Paths that callers give and that files of a repository name: each is joined to the repository's own address.
import { ModelFormatError } from '../core/errors.js';

/** A part of a path that leads elsewhere or nowhere. A server may decode what a URL has encoded. */
const kOutside = /^(\.|%2e){0,2}$|^[a-z]:|[\\\0]|%(2f|5c)/i;

/** Whether a path stays in the folder that it is joined to, on every disk and server: `1_Pooling`, `onnx/model.safetensors`. */
export const isInside = (path: string): boolean => !path.split('/').some((part) => kOutside.test(part));

/** What every source asks of every file; '' is the model itself. from: the file that names it, with ': '. */
export function insideModel(path: string, from = ''): string {
  if (path === '' || isInside(path)) return path;
  throw new ModelFormatError(`${from}expected a path inside the model, found '${path}'`);
}
