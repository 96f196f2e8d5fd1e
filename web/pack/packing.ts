// Packs a model as one GGUF file, with the repository's small files as metadata. First all headers are read, which say what the file will
// hold; then the weights pass through: rows that go are left out, the others quantized and written.
import { describe, InputError, ModelFormatError, UnsupportedError } from '../core/errors.js';
import { ownCopy } from '../core/options.js';
import { Breather } from '../core/signal.js';
import { itemsOf } from '../core/texts.js';
import type { AbortSignalLike } from '../core/types.js';
import { bytesOf, ggufHeader, padding, sizeOf } from '../source/gguf_writer.js';
import { kSpanConfig, type NamedBytes } from '../source/model_files.js';
import type { ModelSpecifier } from '../source/types.js';
import type { TrainingTexts } from '../tokenizer/types.js';
import { Calibration } from './calibration.js';
import { jsonOf } from './pack_config.js';
import { Passage, type Write } from './pack_passage.js';
import { isIndex, keyOf, makePlan, modulesOf, type Found } from './pack_plan.js';
import type { PackParts } from './pack_parts.js';
import type { PackOptions, PackReport } from './pack_types.js';

export { comparePacked } from './pack_check.js';

/** UTF-16 units of texts that are tokenized at once. */
const kTextUnits = 1 << 18;

/** The weight files that the index lists, in the order in which the engine reads them. */
function shardsOf(files: readonly NamedBytes[]): string[] {
  const index = files.find(([file]) => isIndex(file))?.[0] ?? '';
  const { weight_map } = (jsonOf(files, index) ?? {}) as { weight_map?: Record<string, string> };
  return [...new Set(Object.values(weight_map ?? {}))].sort();
}

/** The weight files of the modules behind the pooling. */
const moduleWeights = (files: readonly NamedBytes[]): string[] =>
  modulesOf(files)
    .filter(({ type }) => /(^|\.)(Dense|LayerNorm)$/.test(type))
    .map(({ path }) => `${path}/model.safetensors`);

/** A module's tensors are prefixed with its folder. */
const folderOf = (file: string) => file.slice(0, file.lastIndexOf('/') + 1);

/** Counts of each id in texts; and how many texts there were. */
async function countTokens(
  { AutoTokenizer }: PackParts,
  files: readonly NamedBytes[],
  corpus: TrainingTexts,
  ids: number,
  signal: AbortSignalLike | undefined,
): Promise<Float64Array> {
  const wrong = (what: string, found: unknown) =>
    new InputError(`pack: option 'corpus': expected ${what}, found ${describe(found)}`);
  const counts = new Float64Array(ids);
  const tokenizer = await AutoTokenizer.from_pretrained(new Map(files.filter(([name]) => !name.includes('/'))));
  const breather = new Breather();
  let held: string[] = [];
  let units = 0;
  const take = () => {
    const { input_ids } = tokenizer(held, { add_special_tokens: false, return_tensor: false });
    for (const text of input_ids) for (const id of text) if (id < ids) ++(counts[id] as number);
    [held, units] = [[], 0];
  };
  let number = 0;
  for await (const text of itemsOf(typeof corpus === 'string' ? [corpus] : corpus, signal, () => wrong('texts', corpus))) {
    if (typeof text !== 'string') throw wrong(`a string as text ${number}`, text);
    ++number;
    for (let from = 0; from < text.length;) {
      let end = from + kTextUnits;
      if (end < text.length) end = text.lastIndexOf(' ', end) > from ? text.lastIndexOf(' ', end) : end;
      held.push(text.slice(from, end));
      from = end;
    }
    units += text.length;
    if (units < kTextUnits) continue;
    take();
    await breather.breathe(signal);
  }
  if (held.length > 0) take();
  await tokenizer.dispose();
  if (counts.every((count) => count === 0)) throw wrong('texts', number === 0 ? 'none' : 'texts without tokens');
  return counts;
}

function checkPack(options: PackOptions): void {
  const { vocab, corpus, layers, calibrate, dtype = 'q8' } = options;
  if (vocab != null && corpus == null) throw new InputError("pack: option 'vocab': expected texts in option 'corpus', found none");
  if (corpus != null && vocab == null) throw new InputError("pack: option 'corpus' has no effect without option 'vocab'");
  if (layers != null && !Array.isArray(layers))
    throw new InputError(`pack: option 'layers': expected an array of numbers, found ${describe(layers)}`);
  if (calibrate == null) return;
  if (dtype !== 'q4' && dtype !== 'mixed')
    throw new InputError(`pack: option 'calibrate': expected dtype 'q4' or 'mixed', which have 4-bit matrices, found '${dtype}'`);
  if (layers != null) throw new InputError("pack: option 'calibrate': expected no option 'layers' with it");
}

/** Whether it is one of GLiNER or GLiNER2. An error if an option does not fit these. */
async function findsSpans({ loadFrom, openModel }: PackParts, model: ModelSpecifier, options: PackOptions): Promise<boolean> {
  const { findSpanConfig } = await import('../source/span_files.js');
  const quiet = ownCopy({ ...options, progress_callback: undefined });
  const found = await loadFrom(openModel(model, quiet), quiet, findSpanConfig);
  const other = (['layers', 'dim', 'calibrate'] as const).find((name) => options[name] != null);
  if (found.length > 0 && other)
    throw new UnsupportedError(`pack: option '${other}': expected another model than GLiNER or GLiNER2`);
  return found.length > 0;
}

/** Small files that only generation uses. */
const kGenerationFiles = ['generation_config.json', 'chat_template.jinja'];

export async function packTo(parts: PackParts, model: ModelSpecifier, write: Write, options: PackOptions): Promise<PackReport> {
  checkPack(options);
  if (parts.openGguf(model, options))
    throw new InputError('pack: expected a model of safetensors or .bin files, found a GGUF file');
  // Before the files are opened, as two loads of a model wait for each other.
  const more = (await findsSpans(parts, model, options)) ? [kSpanConfig] : kGenerationFiles;
  const calibration = options.calibrate == null ? undefined : await Calibration.open(parts, model, options);
  try {
    return await packFiles(parts, model, write, options, more, calibration);
  } finally {
    calibration?.close();
  }
}

async function packFiles(
  parts: PackParts,
  model: ModelSpecifier,
  write: Write,
  options: PackOptions,
  more: readonly string[],
  calibration: Calibration | undefined,
): Promise<PackReport> {
  const { loadFrom, openModel, openModelFiles, openWeightFile, streamWeights } = parts;
  const { readTensors } = await import('../source/static_model.js');
  let counts: Float64Array | undefined;
  const countsOf = async (files: readonly NamedBytes[], ids: number) =>
    (counts ??= await countTokens(parts, files, options.corpus as TrainingTexts, ids, options.signal ?? undefined));
  let bytes = 0;
  const out = async (chunk: Uint8Array) => {
    bytes += chunk.length;
    if (chunk.length > 0) await write(chunk);
  };
  return loadFrom(openModel(model, options), options, async (source, progress, signal) => {
    if (bytes > 0)
      throw new ModelFormatError('pack: the cached weights were damaged, and part of the file was written; pack again');
    const { files, single, from = source } = await openModelFiles(source, progress, signal, more);
    if (from.routes) throw new UnsupportedError(`pack: expected a model without a Router, found '${source.name}' with one`);
    const { packedLayers } = await import('../source/retrieval_files.js');
    const layers = await packedLayers(source, files, signal);
    const names = [...(single ? [single.name] : shardsOf(files)), ...moduleWeights(files)];
    const found: Found[] = [];
    let first = single;
    for (const [i, wanted] of names.entries()) {
      const weights = i === 0 && single ? single : await openWeightFile(from, wanted, signal);
      const { tensors, whole, close } = await readTensors(weights, signal);
      if (i === 0 && single) first = whole;
      else await close();
      const { name: file } = weights;
      found.push(...tensors.map((tensor) => ({ ...tensor, name: folderOf(file) + tensor.name, key: keyOf(file, tensor.name) })));
    }
    const plan = await makePlan(files, found, options, countsOf, parts.blocksOf);
    calibration?.attach(found, plan.tensors);
    const order = found.flatMap(({ key }) => plan.tensors.get(key) ?? []).filter(({ shape }) => sizeOf(shape) > 0);
    const { toPacked } = await import('../source/span_files.js');
    const small = [...toPacked(plan.files), ...layers];
    const metadata = [
      ...plan.metadata,
      ['wattn.dtype', options.dtype ?? 'q8'],
      ['wattn.files', small.map(([name]) => name)],
      ['wattn.contents', small.map(([, content]) => content)],
    ] as const;
    const header = ggufHeader(metadata, order);
    await out(header);
    const passage = new Passage(
      (file, name) => plan.tensors.get(keyOf(file, name)),
      out,
      () => out(padding(bytes - header.length)),
    );
    await streamWeights(from, names, first, passage, progress, signal);
    passage.close();
    const expected = order.reduce((sum, tensor) => sum + bytesOf(tensor) + padding(bytesOf(tensor)).length, header.length);
    if (bytes !== expected) throw new ModelFormatError(`pack: expected to write ${expected} bytes, wrote ${bytes}`);
    progress.ready();
    return { bytes, original_bytes: passage.read, tensors: order.length, ...plan.report };
  });
}
