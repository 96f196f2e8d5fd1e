// Parts of wattn's code that are loaded when they are first needed. tools/bundle.mjs puts `loaded` around each import() of a file of wattn's.
import { StateError, WattnError } from './errors.js';

/** The part, or an error of wattn's with what cures it. An entry's file may be older than the server's others: each deployment gives them new names. */
export function loaded<Part>(part: Promise<Part>): Promise<Part> {
  return part.catch((cause: unknown) => {
    if (cause instanceof WattnError) throw cause;
    const remedy = 'process' in globalThis ? 'install or deploy all files of the package' : 'reload the page';
    throw new StateError(`a part of wattn could not be loaded: ${String((cause as Error)?.message ?? cause)}; ${remedy}`, {
      cause,
    });
  });
}
