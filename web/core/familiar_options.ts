// Options of what loads only a model's small files.
import { readOptions, type Rules } from './options.js';

/** readOptions for what loads only a model's small files, which takes the options of loading the model, too: programs pass the same ones to both. */
export async function readFamiliar<T>(where: string, options: T, rules: Rules): Promise<NonNullable<T>> {
  try {
    return readOptions(where, options, rules);
  } catch (error) {
    return readOptions(where, (await import('./habits.js')).again('load_files', where, options, error), rules);
  }
}
