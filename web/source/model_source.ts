// Chooses the source of a model's files by the form of the model argument.
import { env } from '../core/env.js';
import { describe, InputError } from '../core/errors.js';
import { bytesSource } from './bytes_source.js';
import { cachedHubSource } from './cache.js';
import { urlSource } from './fetch_source.js';
import { platform } from './platform.js';
import type { Copies, ModelSource } from './source.js';
import { accessOf } from './access.js';
import type { FileBytes, UrlLike } from '../core/types.js';
import type { ModelSpecifier, SourceOptions } from './types.js';

export const kSourceRules = {
  progress_callback: 'function',
  signal: 'signal',
  revision: 'string',
  local_files_only: 'boolean',
  cache_dir: 'string',
  timeout: 'index',
  token: 'string',
} as const;

const kForms = "a Hub id ('org/name'), a URL, a path ('./dir', '/dir'), Files of a directory, or a map of file names to bytes";

export const isHubId = (text: string) => /^\w[\w.-]*(\/\w[\w.-]*)?$/.test(text) && !text.includes('..');
const isPlace = (text: string) => /^(\.{0,2}[/\\]|\.{1,2}$|[A-Za-z]:[/\\]|file:)/.test(text) || /[/\\].*[/\\]|[/\\]$|\\/.test(text);

const tagOf = (value: object) => Object.prototype.toString.call(value).slice(8, -1);

function parseUrl(href: string): URL {
  try {
    return new URL(href);
  } catch (cause) {
    throw new InputError(`model: '${href}' is not a valid URL`, { cause });
  }
}

function fromString(text: string, options: SourceOptions, local: boolean, copies: Copies | undefined): ModelSource {
  if (/^https?:/i.test(text)) return urlSource(parseUrl(text), text, local, accessOf(options));
  if (isPlace(text)) return platform.openPlace(text, local, accessOf(options));
  if (!isHubId(text)) throw new InputError(`model: expected ${kForms}, found ${describe(text)}`);
  const { localModelPath: path } = env;
  if (path && env.allowLocalModels) return platform.openPlace(`${path.replace(/\/*$/, '/')}${text}`, local, accessOf(options));
  return cachedHubSource(text, options, local, copies);
}

function entriesOf(model: object): [string, FileBytes][] {
  if (tagOf(model) === 'Map') return [...(model as ReadonlyMap<string, FileBytes>)];
  const { length } = model as { length?: unknown };
  if (typeof length !== 'number') return Object.entries(model as Record<string, FileBytes>);
  return Array.from(model as ArrayLike<FileBytes & { name?: string; webkitRelativePath?: string }>, (file, i) => {
    const name = file?.webkitRelativePath || file?.name;
    if (typeof name !== 'string') throw new InputError(`model[${i}]: expected a File, found ${describe(file)}`);
    return [name, file];
  });
}

/** The source for a model argument, chosen by its form alone: nothing is looked up. copies: of a hub's model. */
export function openModel(model: ModelSpecifier, options: SourceOptions, copies?: Copies): ModelSource {
  const local = options.local_files_only === true || !env.allowRemoteModels;
  const hub = typeof model === 'string' && !isPlace(model) && isHubId(model);
  if (options.revision !== undefined && options.revision !== null && !hub) {
    throw new InputError(`option 'revision': expected a Hub id as the model, found ${describe(model)}`);
  }
  if (typeof model === 'string') return fromString(model, options, local, copies);
  if (typeof model !== 'object' || ArrayBuffer.isView(model) || tagOf(model) === 'ArrayBuffer') {
    throw new InputError(`model: expected ${kForms}, found ${describe(model)}`);
  }
  if (tagOf(model) === 'URL') {
    const { href } = model as UrlLike;
    return /^file:/i.test(href) ? platform.openPlace(href, local, {}) : urlSource(parseUrl(href), href, local, accessOf(options));
  }
  return bytesSource(entriesOf(model));
}
