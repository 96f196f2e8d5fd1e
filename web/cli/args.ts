// The command line: reading options, and errors in its use.
import { parseArgs } from 'node:util';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { parseJson } from '../core/json.js';
import { unknownOption } from '../core/options.js';
import { InputError, type LoadOptions, type ProgressInfo } from '../entries/index.js';
import { isHubId } from '../source/model_source.js';
import { kCommands, type Options } from './commands.js';
import { megabytes, Progress } from './progress.js';

export type Values = Record<string, string | boolean | string[] | undefined>;

export function parse(command: string, args: string[]): { values: Values; positionals: string[] } {
  try {
    const { values, positionals } = parseArgs({ args, options: kCommands[command] as Options, allowPositionals: true });
    return { values: values as Values, positionals };
  } catch (error) {
    const [, name] = /^Unknown option '(-[^']*)'/.exec((error as Error).message) ?? [];
    const known = Object.keys(kCommands[command] as Options).map((option) => `--${option}`);
    if (name !== undefined) throw unknownOption(`wattn ${command}`, name, known);
    const [line] = (error as Error).message.split(/\.? To specify a positional|\n/);
    throw new InputError(`${line} (see wattn ${command} --help)`);
  }
}

/** The value of an option that must be given. what: its meaning, for the message. */
export function required(values: Values, name: string, what: string): string {
  const value = text(values, name);
  if (value === undefined) throw new InputError(`--${name}: expected ${what}, found none`);
  return value;
}

/** The object of --options, which go to the library's function. */
export function jsonOptions(values: Values): Record<string, unknown> {
  const json = text(values, 'options') ?? '{}';
  try {
    const value: unknown = parseJson(json);
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Record<string, unknown>;
  } catch {
    // reported below
  }
  throw new InputError(`--options: expected a JSON object, found ${json.slice(0, 60)}`);
}

/** For commands that read no texts. */
export function noTexts(positionals: readonly string[]): void {
  if (positionals.length > 0) throw new InputError(`expected options only, found '${positionals[0]}'`);
}

export function text(values: Values, name: string): string | undefined {
  return values[name] as string | undefined;
}

export function count(values: Values, name: string): number | undefined {
  const value = text(values, name);
  if (value === undefined) return undefined;
  if (!/^\d{1,9}$/.test(value) || Number(value) < 1)
    throw new InputError(`--${name}: expected a whole number from 1 on, found '${value}'`);
  return Number(value);
}

export function number(values: Values, name: string): number | undefined {
  const value = text(values, name);
  if (value === undefined) return undefined;
  if (value.trim() !== '' && Number.isFinite(Number(value))) return Number(value);
  throw new InputError(`--${name}: expected a number, found '${value}'`);
}

/** Parts separated by commas. */
export function list(values: Values, name: string): string[] | undefined {
  return text(values, name)
    ?.split(',')
    .map((part) => part.trim())
    .filter((part) => part !== '');
}

export function choice<Name extends string>(values: Values, option: string, names: readonly Name[]): Name | undefined {
  const value = text(values, option);
  if (value === undefined || names.includes(value as Name)) return value as Name | undefined;
  throw new InputError(`--${option}: expected ${names.join(' or ')}, found '${value}'`);
}

export function flag(values: Values, name: string): boolean | undefined {
  return values[name] === true ? true : undefined;
}

/** The model argument. A name that could be a hub id or an existing folder is an error. */
export function modelOf(values: Values): string | undefined {
  const model = text(values, 'model');
  if (model === undefined) return undefined; // the bundled model
  if (isHubId(model) && existsSync(join(model, 'config.json'))) {
    throw new InputError(`--model: '${model}' could be a Hub id or a local folder: write ./${model} for the folder`);
  }
  return model;
}

/** Options for loading, with a progress line on standard error. */
export function loadOptions(
  values: Values,
): Pick<LoadOptions, 'revision' | 'local_files_only' | 'cache_dir' | 'progress_callback'> {
  const shown = process.stderr.isTTY || values['progress'] === true;
  let bar: Progress | undefined;
  const show = (info: ProgressInfo) => {
    if (info.status === 'ready') {
      bar?.end();
      bar = undefined;
    }
    if (info.status !== 'progress') return;
    bar ??= new Progress(values, megabytes);
    bar.show({ done: info.loaded, total: info.total, what: info.file });
  };
  return {
    ...(text(values, 'revision') !== undefined && { revision: text(values, 'revision') as string }),
    ...(flag(values, 'local-files-only') && { local_files_only: true }),
    ...(text(values, 'cache-dir') !== undefined && { cache_dir: text(values, 'cache-dir') as string }),
    ...(shown && { progress_callback: show }),
  };
}

/** The options that are not undefined. */
export function given<T extends object>(options: T): { [K in keyof T]: Exclude<T[K], undefined> } {
  return Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined)) as never;
}

export function computeOptions(values: Values): LoadOptions {
  return given({
    ...loadOptions(values),
    adapter: text(values, 'adapter'),
    dtype: text(values, 'dtype'),
    prefer: text(values, 'prefer'),
    precision: text(values, 'precision'),
    threads: count(values, 'threads'),
    kv_cache_dtype: choice(values, 'kv-cache-dtype', ['f32', 'q8']),
    prefix_cache_bytes: number(values, 'prefix-cache-bytes'),
  }) as LoadOptions;
}
