// Reads a model's small files whole and in parallel, with one progress over all files. Weights: weight_files.ts.
import { ownCopy } from '../core/options.js';
import { plainCallback } from '../core/callback.js';
import { ModelFormatError } from '../core/errors.js';
import { parseJson } from '../core/json.js';
import { htmlError, looksLikeHtml } from './fetch_source.js';
import { insideModel } from './inside.js';
import type { ModelSource, OpenFile } from './source.js';
import { allInOrder, Breather } from '../core/signal.js';
import { concat } from '../core/texts.js';
import type { ProgressInfo } from './types.js';

export type NamedBytes = [name: string, bytes: Uint8Array];

/** Files of sentence-transformers, beside modules.json. */
const kSentenceFiles = ['sentence_bert_config.json', 'config_sentence_transformers.json'];

/** The JSON object of one of these files; undefined if the file is absent. */
export function readJson(files: readonly NamedBytes[], name: string): Record<string, unknown> | undefined {
  const bytes = files.find(([file]) => file === name)?.[1];
  if (!bytes) return undefined;
  let json: unknown;
  try {
    json = parseJson(new TextDecoder().decode(bytes));
  } catch (cause) {
    throw new ModelFormatError(`${name}: ${(cause as Error).message}`, { cause });
  }
  if (typeof json === 'object' && json !== null && !Array.isArray(json)) return ownCopy(json as Record<string, unknown>);
  throw new ModelFormatError(`${name}: expected an object, found ${JSON.stringify(json).slice(0, 40)}`);
}

/** The same; no fields where there is no such file. */
export const readFields = (files: readonly NamedBytes[], name: string): Record<string, unknown> =>
  readJson(files, name) ?? ownCopy({});

/** The text of a token in tokenizer_config.json: a string, or an object with its content. */
export function tokenText(token: unknown): string | undefined {
  const text = typeof token === 'object' ? (token as { content?: unknown } | null)?.content : token;
  return typeof text === 'string' ? text : undefined;
}

/** A special token of tokenizer_config.json, such as `mask_token`. */
export const specialToken = (files: readonly NamedBytes[], name: string): string | undefined => tokenText(readSpecial(files)[name]);

/** What the files call tokens: special_tokens_map.json counts where tokenizer_config.json lacks added_tokens_decoder, as in Python. */
export function readSpecial(files: readonly NamedBytes[]): { [name: string]: unknown } {
  const settings = readFields(files, 'tokenizer_config.json');
  return settings.added_tokens_decoder ? settings : ownCopy({ ...settings, ...readFields(files, 'special_tokens_map.json') });
}

/** Reports progress once the total is known, at most 200 times. */
export class Progress {
  private total: number | undefined = 0;
  private loaded = 0;
  private reported = -1;
  private readonly told = new Set<string>();
  private files: Record<string, { loaded: number; total: number }> = {};

  private readonly callback: (info: ProgressInfo) => void;

  constructor(
    private readonly source: ModelSource,
    callback: ((info: ProgressInfo) => void) | undefined,
  ) {
    this.callback = plainCallback(callback);
  }

  /** size: of the file, if it is known. */
  initiate(file: string, size = 0): void {
    this.files[file] = { loaded: 0, total: size };
    this.tell('initiate', file);
    this.tell('download', file);
  }

  done(file: string): void {
    this.tell('done', file);
  }

  private tell(status: 'initiate' | 'download' | 'done', file: string): void {
    const event = `${status} ${file}`;
    if (!this.told.has(event)) this.callback({ status, name: this.source.name, file });
    this.told.add(event);
  }

  /** The files are read once more. Events do not repeat: reports go on where the first reading stopped. */
  restart(): void {
    this.files = {};
    this.total = this.loaded = 0;
  }

  /** Files of another repository serve the model too. */
  base(base: string): void {
    if (!this.told.has(base)) this.callback({ status: 'base', name: this.source.name, base });
    this.told.add(base);
  }

  ready(): void {
    const { name } = this.source;
    this.callback({ status: 'ready', name, model: name });
  }

  /** Adds the bytes of a small file to `loaded` and to the total. */
  addWhole(file: string, bytes: number): void {
    this.files[file] = { loaded: bytes, total: bytes };
    this.loaded += bytes;
  }

  /** Sets the number of bytes still to come, if it is known. */
  expect(bytes: number | undefined): void {
    this.total = bytes === undefined ? undefined : this.loaded + bytes;
  }

  advance(file: string, bytes: number): void {
    this.loaded += bytes;
    const own = (this.files[file] ??= { loaded: 0, total: 0 });
    own.loaded += bytes;
    own.total = Math.max(own.total, own.loaded);
    const { total, loaded } = this;
    if (total === undefined || total === 0 || (loaded < total && loaded - this.reported < total / 200)) return;
    this.reported = loaded;
    const { name, phase } = this.source;
    const counts = { loaded, total, progress: (100 * loaded) / total };
    this.callback({ status: 'progress', name, file, phase, ...counts });
    const files = Object.fromEntries(Object.entries(this.files).map(([each, counted]) => [each, { ...counted }]));
    this.callback({ status: 'progress_total', name, ...counts, files });
  }
}

/** The limit of every file that is not weights, and of the header of a GGUF file: 128 MiB, four times the longest known. */
export const kMostSmallBytes = 1 << 27;

export function checkSmall(file: string, what: string, bytes: number | undefined): void {
  if (bytes === undefined || bytes <= kMostSmallBytes) return;
  throw new ModelFormatError(`${file}: expected ${what} of at most ${kMostSmallBytes} bytes, found ${bytes} or more`);
}

/** All bytes of a file, in pieces as they arrived. check: called with the bytes so far. */
export async function readPieces(
  open: OpenFile,
  signal: AbortSignal,
  check?: (bytes: number | undefined) => void,
): Promise<{ pieces: Uint8Array[]; size: number }> {
  const breather = new Breather();
  const pieces: Uint8Array[] = [];
  let size = 0;
  check?.(open.size);
  for await (const chunk of open.chunks()) {
    size += chunk.length;
    check?.(size);
    pieces.push(chunk.slice());
    await breather.breathe(signal);
  }
  return { pieces, size };
}

/** The bytes of a small file; undefined if there is no such file. */
async function readWhole(
  source: ModelSource,
  file: string,
  progress: Progress,
  signal: AbortSignal,
): Promise<Uint8Array | undefined> {
  const open = await source.open(file, signal);
  if (!open) return undefined;
  progress.initiate(file, open.size);
  const { pieces, size } = await readPieces(open, signal, (bytes) => checkSmall(file, 'a file', bytes));
  const bytes = concat(Uint8Array, pieces);
  if (looksLikeHtml(bytes)) throw htmlError(file, source.place(file));
  progress.addWhole(file, size);
  progress.done(file);
  return bytes;
}

export function missingFile(source: ModelSource, ...files: [string, ...string[]]): ModelFormatError {
  const places = files.map((file) => source.place(file));
  const [first, ...others] = files;
  const or = others.length > 0 ? ` (or ${others.join(' or ')})` : '';
  return new ModelFormatError(
    `${first}: expected this file${or} in the model '${source.name}', found none; looked in ${[...new Set(places)].join(' and ')}`,
  );
}

export async function readRequired(
  source: ModelSource,
  file: string,
  progress: Progress,
  signal: AbortSignal,
): Promise<NamedBytes> {
  const bytes = await readWhole(source, file, progress, signal);
  if (!bytes) throw missingFile(source, file);
  return [file, bytes];
}

export async function readOptional(
  source: ModelSource,
  file: string,
  progress: Progress,
  signal: AbortSignal,
): Promise<NamedBytes[]> {
  const bytes = await readWhole(source, file, progress, signal);
  return bytes ? [[file, bytes]] : [];
}

/** The folder of a module without '/' at its end; the root is ''. file: the one that names it. */
export function modulePath(file: string, path: unknown): string {
  const folder = (typeof path === 'string' ? path : '').replace(/^\.\/|^\.$|\/+$/g, '');
  return insideModel(folder, `${file}: `);
}

/** The config.json of each Pooling, Dense, LayerNorm and LogitScore module in modules.json. The engine reports errors in modules.json itself. */
export function moduleConfigs(modulesJson: Uint8Array): string[] {
  let modules: unknown;
  try {
    modules = parseJson(new TextDecoder().decode(modulesJson));
  } catch {
    return [];
  }
  if (!Array.isArray(modules)) return [];
  const paths = modules
    .filter((module) => /(^|\.)(Pooling|Dense|LayerNorm|LogitScore)$/.test(typeof module?.type === 'string' ? module.type : ''))
    .map((module) => modulePath('modules.json', module.path));
  return paths.filter((path) => path !== '').map((path) => `${path}/config.json`);
}

/** The files of sentence-transformers. Without modules.json there are no others, and none is asked for: a browser shows each 404 as a failure. */
export async function readModules(source: ModelSource, progress: Progress, signal: AbortSignal): Promise<NamedBytes[]> {
  const modules = await readOptional(source, 'modules.json', progress, signal);
  if (!modules[0]) return [];
  const configs = moduleConfigs(modules[0][1]); // before any file is read, as it may throw
  const more = await allInOrder([
    ...kSentenceFiles.map((file) => readOptional(source, file, progress, signal)),
    ...configs.map(async (file) => [await readRequired(source, file, progress, signal)]),
  ]);
  return [...modules, ...more.flat()];
}

const [kJson, kLlama3, kSettings] = ['tokenizer.json', 'tokenizer.model', 'tokenizer_config.json'];

/**
 * tokenizer_config.json. Older ones lack added_tokens_decoder: as in Python, two more files have special and added tokens then. transformers 5, which
 * writes a `backend`, writes neither of them: a server is not asked for them, as a page reports each 404.
 */
export async function readTokenizerSettings(source: ModelSource, progress: Progress, signal: AbortSignal): Promise<NamedBytes[]> {
  const settings = await readOptional(source, kSettings, progress, signal);
  const isWhole = source.phase === 'download' ? /"(added_tokens_decoder|backend)"/ : /"added_tokens_decoder"/;
  if (settings.some(([, bytes]) => isWhole.test(new TextDecoder().decode(bytes)))) return settings;
  const names = ['special_tokens_map.json', 'added_tokens.json'];
  return [...settings, ...(await allInOrder(names.map((name) => readOptional(source, name, progress, signal)))).flat()];
}

/** Alternatives, each complete; the first one present is used. */
export const kVocabularies = [
  ['vocab.json', 'merges.txt'],
  ['vocab.json', 'source.spm'],
  ['vocab.txt'],
  ['spiece.model'],
  ['spm.model'],
  ['sentencepiece.model'],
  [kLlama3],
  ['vocab.json', 'sentencepiece.bpe.model'],
  ['sentencepiece.bpe.model'],
];

/** A tokenizer of one word, for models that only read ids, whatever class they name. */
const kNoTokenizer: [string, string][] = [
  [kJson, '{"model":{"type":"WordLevel","vocab":{"?":0},"unk_token":"?"}}'],
  [kSettings, '{"tokenizer_class":"PreTrainedTokenizerFast"}'],
];

/** tokenizer.json if present, else an older vocabulary format. idsOnly: texts are never read, so that there may be none. tiktoken: this file. */
export async function readTokenizerFiles(
  source: ModelSource,
  progress: Progress,
  signal: AbortSignal,
  idsOnly = false,
  tiktoken?: string,
): Promise<NamedBytes[]> {
  if (tiktoken) {
    const [[, bytes], { tiktokenToJson }] = await Promise.all([
      readRequired(source, tiktoken, progress, signal),
      import('./tiktoken.js'),
    ]);
    return [[kJson, tiktokenToJson(tiktoken, bytes)]];
  }
  const json = await readOptional(source, kJson, progress, signal);
  if (json.length > 0) return json;
  const read = new Map<string, Promise<NamedBytes[]>>(); // alternatives may share a file
  for (const names of kVocabularies) {
    for (const name of names) if (!read.has(name)) read.set(name, readOptional(source, name, progress, signal));
    const files = (await Promise.all(names.map((name) => read.get(name) as Promise<NamedBytes[]>))).flat();
    if (files.length < names.length) continue;
    const [[name, bytes]] = files as [NamedBytes];
    // Llama 3's has lines, SentencePiece's begins with a byte 10.
    const isTiktoken = name === kLlama3 && /^[\w+/]+=* \d+\n/.test(new TextDecoder().decode(bytes.subarray(0, 99)));
    return isTiktoken ? [[kJson, (await import('./tiktoken.js')).tiktokenToJson(name, bytes)]] : files;
  }
  const written = ([name, text]: [string, string]): NamedBytes => [name, new TextEncoder().encode(text)];
  if (idsOnly) return kNoTokenizer.map(written);
  throw missingFile(source, kJson, ...kVocabularies.map((names) => names.join(' with ')));
}

/** A weight file, opened but not read. */
export interface WeightFile {
  name: string;
  open: OpenFile;
}

export interface ModelFiles {
  /** The small files that are present. */
  files: NamedBytes[];
  /** The first weight file: model.safetensors, pytorch_model.bin or the .gguf; undefined for a sharded model. */
  single: WeightFile | undefined;
  /** Where its other weight files are, if its own files are in a folder. */
  from?: ModelSource;
}

/** Small files that only generation uses. */
export const kChatTemplate = 'chat_template.jinja';
export const kGenerationFiles = ['generation_config.json', kChatTemplate];

/** GLiNER's configuration. It may contain config.json, or name the repository that has one. */
export const kSpanConfig = 'gliner_config.json';
/** Whether it is that of GLiNER2, which has labels in a schema. */
export const hasSchema = ({ model_type }: Record<string, unknown>): boolean => model_type === 'extractor';
/** Whether it is that of a bi-encoder, which reads labels with a second encoder. */
export const hasLabelsEncoder = ({ labels_encoder }: Record<string, unknown>): boolean => (labels_encoder ?? null) !== null;

/** The config.json of a HierarchicalTokenPooling module, which is a part of the task (tasks/token_pooling.ts). */
export const kTokenPooling = 'token_pooling.json';
