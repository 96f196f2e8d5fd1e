// The small files of GLiNER and GLiNER2 models. GLiNER's repositories as their authors wrote them have no tokenizer and no configuration of the encoder. The
// package gliner takes both from the repository that gliner_config.json names as model_name, and so does this. The encoder that a bi-encoder has for labels is
// named as labels_encoder. Loaded with the first of these models.
import { describe, InputError, ModelFormatError, NetworkError } from '../core/errors.js';
import { allInOrder } from '../core/signal.js';
import {
  hasLabelsEncoder,
  hasSchema,
  kSpanConfig,
  readFields,
  readOptional,
  readRequired,
  readTokenizerFiles,
  readTokenizerSettings,
  type NamedBytes,
  type Progress,
} from './model_files.js';
import type { ModelSource } from './source.js';

const [kConfig, kTokenizerConfig] = ['config.json', 'tokenizer_config.json'];
/** The encoder's config.json in a repository of GLiNER2. */
const kEncoderConfig = 'encoder_config/config.json';
/** Where save_pretrained of gliner puts the tokenizer of a bi-encoder's labels, and what the engine calls the config.json of their encoder. */
const [kLabelsTokenizer, kLabelsConfig] = ['labels_tokenizer/', 'labels_encoder/config.json'];

/** A folder of the model as a source. */
const folderOf = (source: ModelSource, folder: string): ModelSource => ({
  name: source.name,
  phase: source.phase,
  place: (file) => source.place(folder + file),
  open: (file, signal) => source.open(folder + file, signal),
  size: (file, signal) => source.size(folder + file, signal),
});

/** gliner_config.json, or GLiNER2's config.json under that name; none if there is neither. */
export async function findSpanConfig(source: ModelSource, progress: Progress, signal: AbortSignal): Promise<NamedBytes[]> {
  const own = await readOptional(source, kSpanConfig, progress, signal);
  if (own.length > 0) return own;
  const config = await readOptional(source, kConfig, progress, signal);
  return config[0] && hasSchema(readFields(config, kConfig)) ? [[kSpanConfig, config[0][1]]] : [];
}

export async function readSpanConfig(source: ModelSource, progress: Progress, signal: AbortSignal): Promise<NamedBytes[]> {
  const found = await findSpanConfig(source, progress, signal);
  return found.length > 0 ? found : [await readRequired(source, kSpanConfig, progress, signal)];
}

/** Renames files if they are of a GLiNER2 model. config: the file that says so. */
function renamed(files: readonly NamedBytes[], config: string, names: Readonly<Record<string, string>>): NamedBytes[] {
  if (!hasSchema(readFields(files, config))) return [...files];
  return files.map(([name, bytes]) => [names[name] ?? name, bytes]);
}

/** A packed GLiNER2 model has the names of its repository, and the engine expects others. */
export const fromPacked = (files: readonly NamedBytes[]): NamedBytes[] =>
  renamed(files, kConfig, { [kConfig]: kSpanConfig, [kEncoderConfig]: kConfig });
export const toPacked = (files: readonly NamedBytes[]): NamedBytes[] =>
  renamed(files, kSpanConfig, { [kSpanConfig]: kConfig, [kConfig]: kEncoderConfig });

/** Whether a config.json beside gliner_config.json is of an encoder: gliner does not read it. */
function isOfEncoder(config: readonly NamedBytes[]): boolean {
  const { model_type: type } = readFields(config, kConfig);
  return typeof type === 'string' && /^(?!gliner)./i.test(type);
}

/** The repository of an encoder, and its config.json. */
interface Base {
  source: ModelSource;
  config: NamedBytes[];
}

/** A repository that gliner_config.json names in this field, opened when it is first needed. */
class NamedBase {
  private base: Promise<Base | undefined> | undefined;
  private places: readonly ModelSource[] | undefined;

  constructor(
    private readonly model: ModelSource,
    private readonly fields: Record<string, unknown>,
    private readonly field: 'model_name' | 'labels_encoder',
    private readonly progress: Progress,
    private readonly signal: AbortSignal,
  ) {}

  /** wanted: the beginning of the error if there is no such repository, or if it lacks the file. */
  async read(wanted: string, read: (base: Base) => Promise<NamedBytes[]>): Promise<NamedBytes[]> {
    const name = this.fields[this.field];
    const model = this.model.name;
    if (typeof name !== 'string' || !/^\w[\w.-]*(\/\w[\w.-]*)?$/.test(name) || name.includes('..')) {
      throw new ModelFormatError(
        `gliner_config.json: ${this.field}: expected the id of the encoder's repository ('org/name'), found ${describe(name)}; ${wanted} in the model '${model}', found none`,
      );
    }
    const why = `${wanted} in the model '${model}', found none: gliner takes that of '${name}' (${this.field} of gliner_config.json)`;
    const places = (this.places ??= this.model.others?.(name) ?? []);
    try {
      const base = await (this.base ??= this.open(name, places));
      if (base) return await read(base);
    } catch (error) {
      const isOfBase = error instanceof NetworkError || error instanceof ModelFormatError || error instanceof InputError;
      if (isOfBase && !error.message.includes(kSpanConfig)) error.message += `; ${why}`;
      throw error;
    }
    const looked = places.map((source) => source.place(kConfig)).join(' and ');
    const inside = this.field === 'model_name' ? 'the model' : `the folder ${kLabelsTokenizer} of the model`;
    throw new ModelFormatError(
      `${why}${looked && `; looked for its ${kConfig} in ${looked}`}: put its ${kConfig}, ${kTokenizerConfig} and tokenizer there, or into ${inside}`,
    );
  }

  private async open(name: string, places: readonly ModelSource[]): Promise<Base | undefined> {
    for (const source of places) {
      const config = await readOptional(source, kConfig, this.progress, this.signal).catch((error: unknown) => {
        const isElsewhere = error instanceof InputError || error instanceof ModelFormatError; // no such folder, or a start page
        if (places.length > 1 && isElsewhere) return [];
        throw error;
      });
      if (config.length === 0) continue;
      this.progress.base(name);
      return { source, config };
    }
    return undefined;
  }
}

class SpanFiles {
  private readonly fields: Record<string, unknown>;
  private readonly base: NamedBase;

  constructor(
    private readonly source: ModelSource,
    spans: readonly NamedBytes[],
    private readonly progress: Progress,
    private readonly signal: AbortSignal,
  ) {
    this.fields = readFields(spans, kSpanConfig);
    this.base = new NamedBase(source, this.fields, 'model_name', progress, signal);
  }

  private optional(source: ModelSource, file: string): Promise<NamedBytes[]> {
    return readOptional(source, file, this.progress, this.signal);
  }

  /** config.json of the encoder; none if gliner_config.json contains it. */
  async config(): Promise<NamedBytes[]> {
    if (hasSchema(this.fields)) {
      const [, bytes] = await readRequired(this.source, kEncoderConfig, this.progress, this.signal);
      return [[kConfig, bytes]];
    }
    const { encoder_config: given } = this.fields;
    if (given !== undefined && given !== null) return [];
    const own = await this.optional(this.source, kConfig);
    return isOfEncoder(own)
      ? own
      : this.base.read(`${kConfig}: expected the encoder's configuration`, async ({ config }) => config);
  }

  private settings(from: ModelSource): Promise<NamedBytes[]> {
    return readTokenizerSettings(from, this.progress, this.signal);
  }

  private async wholeTokenizer(from: ModelSource): Promise<NamedBytes[]> {
    return (await allInOrder([this.settings(from), readTokenizerFiles(from, this.progress, this.signal)])).flat();
  }

  /** As in Python, tokenizer_config.json decides: a model with that file has a tokenizer of its own. */
  async tokenizer(): Promise<NamedBytes[]> {
    const own = await this.settings(this.source);
    if (own.some(([name]) => name === kTokenizerConfig)) {
      return [...own, ...(await readTokenizerFiles(this.source, this.progress, this.signal))];
    }
    const json = await this.optional(this.source, 'tokenizer.json');
    if (json.length > 0) return json;
    return this.base.read('tokenizer.json: expected a tokenizer', ({ source }) => this.wholeTokenizer(source));
  }

  /** What a bi-encoder reads labels with; none of another model. */
  async labels(): Promise<NamedBytes[]> {
    if (!hasLabelsEncoder(this.fields)) return [];
    const base = new NamedBase(this.source, this.fields, 'labels_encoder', this.progress, this.signal);
    const { labels_encoder_config: given } = this.fields;
    const config = async (): Promise<NamedBytes[]> => {
      if (given !== undefined && given !== null) return [];
      const own = await this.optional(this.source, kLabelsConfig);
      if (own.length > 0) return own;
      const read = await base.read(`${kLabelsConfig}: expected the configuration of the labels' encoder`, async (of) => of.config);
      return read.map(([, bytes]) => [kLabelsConfig, bytes]);
    };
    const tokenizer = async (): Promise<NamedBytes[]> => {
      const own = await this.optional(this.source, kLabelsTokenizer + kTokenizerConfig);
      const read =
        own.length > 0
          ? await this.wholeTokenizer(folderOf(this.source, kLabelsTokenizer))
          : await base.read(`${kLabelsTokenizer}: expected a tokenizer`, ({ source }) => this.wholeTokenizer(source));
      return read.map(([name, bytes]) => [kLabelsTokenizer + name, bytes]);
    };
    return (await allInOrder([config(), tokenizer()])).flat();
  }
}

/** The encoder's config.json, which gliner_config.json may contain; undefined if these are no files of a GLiNER or GLiNER2 model. */
export function encoderConfigIn(packed: readonly NamedBytes[]): NamedBytes[] | undefined {
  const files = fromPacked(packed);
  if (!files.some(([name]) => name === kSpanConfig)) return undefined;
  const { encoder_config: given } = readFields(files, kSpanConfig);
  if (typeof given !== 'object' || given === null) return files.filter(([name]) => name === kConfig);
  const { model_type } = given as { model_type?: unknown };
  const config = { ...given, model_type: model_type ?? 'deberta-v2' }; // as src/engine/documents.cpp
  return [[kConfig, new TextEncoder().encode(JSON.stringify(config))]];
}

/** gliner_config.json with config.json of the encoder; none if it is another model. */
export async function readSpanConfigs(source: ModelSource, progress: Progress, signal: AbortSignal): Promise<NamedBytes[]> {
  const spans = await findSpanConfig(source, progress, signal);
  return spans.length === 0 ? [] : [...spans, ...(await new SpanFiles(source, spans, progress, signal).config())];
}

/** The files beside gliner_config.json and the weights. */
export async function readSpanFiles(
  source: ModelSource,
  config: readonly NamedBytes[],
  progress: Progress,
  signal: AbortSignal,
): Promise<NamedBytes[]> {
  const files = new SpanFiles(source, config, progress, signal);
  return (await allInOrder([files.config(), files.tokenizer(), files.labels()])).flat();
}
