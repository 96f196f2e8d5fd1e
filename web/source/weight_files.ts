// Finds a model's files and streams its weights: safetensors, or pytorch_model.bin in their place, whole or in shards.
import { allInOrder, Breather } from '../core/signal.js';
import { htmlError, looksLikeHtml } from './fetch_source.js';
import { kGenerationFiles, kSpanConfig, readFields, readModules, readOptional, readPieces, readTokenizerFiles, readTokenizerSettings, type ModelFiles, type NamedBytes, type Progress, type WeightFile } from './model_files.js'; // prettier-ignore
import type { SealCheck } from './sealed.js';
import type { ModelSource, OpenFile } from './source.js';

const kWeights = 'model.safetensors';

/** model.safetensors, else the index of its shards, else pytorch_model.bin, else the index of its shards: the order of transformers. */
async function openWeights(source: ModelSource, progress: Progress, signal: AbortSignal) {
  const open = await source.open(kWeights, signal);
  if (open) return { single: { name: kWeights, open }, index: [] };
  const index = await readOptional(source, `${kWeights}.index.json`, progress, signal);
  if (index.length > 0) return { single: undefined, index };
  return (await import('./torch_weights.js')).openTorchWeights(source, progress, signal);
}

/**
 * more: names of further optional small files, except that kSpanConfig is read instead of config.json, and leads to the others (span_files.ts).
 * idsOnly: see readTokenizerFiles.
 * ofSentences: whether files of sentence-transformers count, which generation and the heads of transformers alone never read.
 */
export async function openModelFiles(
  source: ModelSource,
  progress: Progress,
  signal: AbortSignal,
  more: readonly string[] = [],
  idsOnly = false,
  ofSentences = true,
): Promise<ModelFiles> {
  const hasSpans = more.includes(kSpanConfig);
  const reading = hasSpans
    ? import('./span_files.js').then(({ readSpanConfig }) => readSpanConfig(source, progress, signal))
    : readOptional(source, 'config.json', progress, signal);
  reading.catch(() => {}); // it is awaited later
  const ofSpans = async () => (await import('./span_files.js')).readSpanFiles(source, await reading, progress, signal);
  const opening = allInOrder([
    openWeights(source, progress, signal),
    hasSpans ? ofSpans() : readTokenizerFiles(source, progress, signal, idsOnly),
    more === kGenerationFiles || hasSpans || !ofSentences ? [] : readModules(source, progress, signal),
    hasSpans ? [] : readTokenizerSettings(source, progress, signal),
    ...(hasSpans ? [] : more).map((file) => readOptional(source, file, progress, signal)),
  ]).then(([weights, ...files]) => ({ files: [...files.flat(), ...weights.index], single: weights.single }));
  opening.catch(() => {}); // it is awaited later
  const config = await reading;
  if (mayBeStatic(config)) {
    const { openEncoderFolder, openStaticModel } = await import('./static_model.js');
    const from = config.length > 0 ? undefined : await openEncoderFolder(source, progress, signal);
    if (from) return { from, ...(await openModelFiles(from, progress, signal, more, idsOnly, ofSentences)) };
    return openStaticModel(source, config, opening, progress, signal);
  }
  const { files, single } = await opening;
  const ranking = ofSentences || !mayRank(config) ? [] : await readRanking(source, progress, signal);
  const opened = { files: [...config, ...files, ...ranking], single };
  return isQuantized(config) ? (await import('./quantized.js')).openQuantized(source, opened, signal) : opened;
}

/** A classifier of one label may be a cross-encoder, whose activation sentence-transformers keeps in a file of its own. */
function mayRank(config: readonly NamedBytes[]): boolean {
  const { architectures, id2label, num_labels } = readFields(config, 'config.json');
  const labels = id2label ? Object.keys(id2label).length : num_labels;
  return /ForSequenceClassification/.test(String(architectures)) && labels === 1;
}

/** As in Python, it counts in folders with a modules.json alone. */
async function readRanking(source: ModelSource, progress: Progress, signal: AbortSignal): Promise<NamedBytes[]> {
  const modules = await readOptional(source, 'modules.json', progress, signal);
  return modules[0] ? readOptional(source, 'config_sentence_transformers.json', progress, signal) : [];
}

const has = ([config]: readonly NamedBytes[], words: RegExp) => config && words.test(new TextDecoder().decode(config[1]));

/** Static embeddings of model2vec say what they are; those of sentence-transformers have no config.json. */
const mayBeStatic = (config: readonly NamedBytes[]) => has(config, /"model_type"\s*:\s*"model2vec"/) ?? true;

/** GLiNER2's config.json says what it is; GLiNER's repositories have none, or that of an encoder without a head. */
async function mayFindSpans(config: readonly NamedBytes[], source: ModelSource, progress: Progress, signal: AbortSignal) {
  if (!has(config, /"architectures"\s*:\s*\[/) || has(config, /"model_type"\s*:\s*"extractor"/)) return true;
  if (!has(config, /"architectures"\s*:\s*\[\s*"\w+Model"\s*\]/)) return false;
  return (await readOptional(source, 'modules.json', progress, signal)).length === 0; // else it is one of sentence-transformers
}

const isQuantized = (config: readonly NamedBytes[]) => has(config, /"(quantiz|compress)ation(_config)?"/);

/** What describes a model without its tokenizer and weights. */
export async function readConfig(source: ModelSource, progress: Progress, signal: AbortSignal): Promise<NamedBytes[]> {
  const config = await readOptional(source, 'config.json', progress, signal);
  if (isQuantized(config)) return (await import('./quantized.js')).plainConfig(source, config, signal);
  if (await mayFindSpans(config, source, progress, signal)) {
    const spans = await (await import('./span_files.js')).readSpanConfigs(source, progress, signal);
    if (spans.length > 0) return spans;
  }
  if (!mayBeStatic(config)) return config;
  const { describeStaticModel, openEncoderFolder } = await import('./static_model.js');
  const from = config.length > 0 ? undefined : await openEncoderFolder(source, progress, signal);
  return from ? readConfig(from, progress, signal) : describeStaticModel(source, config, progress, signal);
}

/** The bytes that progress counts. */
const sizeOf = ({ size, origin }: OpenFile) => origin?.size ?? size;

export async function openWeightFile(source: ModelSource, name: string, signal: AbortSignal): Promise<WeightFile> {
  const open = await source.open(name, signal);
  if (open && !name.endsWith('.bin')) return { name, open };
  return (await import('./torch_weights.js')).openTorchFor(source, name, open, signal);
}

/** Receives the bytes of the weight files, in order, under the names that they have. */
interface WeightSink {
  begin(file: string, bytes: number, open: OpenFile): void;
  /** Awaited before the next chunk. */
  push(chunk: Uint8Array): void | Promise<void>;
}

/** Whether a file may have a hash of its own (sealed.ts), by its first bytes. */
const mayBeSealed = (chunk: Uint8Array) => '{"__metadata__":{"sha256"'.startsWith(new TextDecoder().decode(chunk.slice(8, 33)));

/** Streams each weight file into the sink. A file of unknown size is first read whole. */
export async function streamWeights(
  source: ModelSource,
  names: readonly string[],
  single: WeightFile | undefined,
  sink: WeightSink,
  progress: Progress,
  signal: AbortSignal,
): Promise<void> {
  const size = async (name: string) =>
    (await source.size(name, signal)) ?? (await import('./torch_weights.js')).torchSize(source, name, signal);
  const sizes = await Promise.all(names.map((name, i) => (i === 0 && single ? sizeOf(single.open) : size(name))));
  const total = sizes.reduce((sum, bytes) => (sum === undefined || bytes === undefined ? undefined : sum + bytes), 0);
  progress.expect(total);
  const breather = new Breather();
  for (const [i, wanted] of names.entries()) {
    const { name, open } = i === 0 && single ? single : await openWeightFile(source, wanted, signal);
    progress.initiate(name);
    const held = open.size === undefined ? await readPieces(open, signal) : undefined;
    if (sizes[i] === undefined && i === names.length - 1) progress.expect(held?.size ?? sizeOf(open));
    sink.begin(name, held?.size ?? (open.size as number), open);
    let passed = 0;
    let counted = 0;
    let seal: SealCheck | undefined;
    const count = (upTo: number) => {
      if (upTo > counted) progress.advance(name, upTo - counted);
      counted = upTo;
    };
    for await (const chunk of held?.pieces ?? open.chunks()) {
      if (passed === 0 && looksLikeHtml(chunk)) throw htmlError(name, source.place(name));
      if (passed === 0 && mayBeSealed(chunk)) seal = new (await import('./sealed.js')).SealCheck(name);
      passed += chunk.length;
      seal?.push(chunk);
      await sink.push(chunk);
      count(open.origin?.position() ?? passed);
      await breather.breathe(signal);
    }
    seal?.end();
    count(sizeOf(open) ?? passed);
    progress.done(name);
  }
}
