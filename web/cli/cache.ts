// `wattn download` and `wattn cache`: models of hubs on this disk.
import { given, loadOptions, text, type Values } from './args.js';
import { write } from './lines.js';
import { cache, InputError, pipeline } from '../entries/index.js';
import { isHubId } from '../source/model_source.js';

const placeOf = (values: Values) => given({ cache_dir: text(values, 'cache-dir'), revision: text(values, 'revision') });

/** What the cache has, by model. */
async function modelsOf(values: Values, model: string | undefined) {
  const found = new Map<string, { model: string; files: number; bytes: number; complete: boolean }>();
  const { revision, ...place } = placeOf(values);
  for (const file of await cache.list(model, { ...place, ...(model !== undefined && revision !== undefined && { revision }) })) {
    const sums = found.get(file.model) ?? { model: file.model, files: 0, bytes: 0, complete: true };
    ++sums.files;
    sums.bytes += file.bytes;
    sums.complete &&= file.complete;
    found.set(file.model, sums);
  }
  return [...found.values()];
}

export async function download(values: Values, positionals: string[]): Promise<void> {
  const named = text(values, 'model');
  const models = named === undefined ? positionals : [named, ...positionals];
  if (models.length === 0) throw new InputError('expected a model to download (org/name), found none');
  for (const model of models) {
    const id = model.replace(/:[\w.-]+$/, ''); // of a file of a GGUF repository
    if (!isHubId(id)) throw new InputError(`expected a Hub id (org/name) to download, found '${model}'`);
    // Most models embed, so this reads all their files.
    const task = (text(values, 'task') ?? 'feature-extraction') as 'feature-extraction';
    const loaded = await pipeline(task, model, loadOptions(values));
    await loaded.dispose();
    const [sums] = await modelsOf(values, id);
    if (!sums) throw new InputError(`${model}: downloaded, but the cache stored nothing (see --cache-dir)`);
    await write(`${JSON.stringify({ model, files: sums.files, bytes: sums.bytes })}\n`);
  }
}

export async function cacheCommand(values: Values, [action = 'list', model, ...more]: string[]): Promise<void> {
  if (more.length > 0) throw new InputError(`expected one model, also found '${more[0]}'`);
  // `wattn cache org/name` is short for `wattn cache list org/name`.
  if (!['list', 'delete', 'clear'].includes(action)) {
    if (model !== undefined || !action.includes('/')) throw new InputError(`expected list, delete or clear, found '${action}'`);
    return cacheCommand(values, ['list', action]);
  }
  if (action === 'list') {
    for (const sums of await modelsOf(values, model)) await write(`${JSON.stringify(sums)}\n`);
    return;
  }
  if ((action === 'delete') !== (model !== undefined)) {
    throw new InputError(
      action === 'delete' ? 'expected the model to delete, found none' : `clear: expected no model, found '${model}'`,
    );
  }
  const place = placeOf(values);
  const deleted = await cache.delete(model, action === 'delete' ? place : given({ cache_dir: text(values, 'cache-dir') }));
  await write(`${JSON.stringify({ deleted })}\n`);
}
