// A model as one GGUF file, and how near it is to the original. The work is done by packing.ts, which is loaded when it is needed.
import { readOptions } from '../core/options.js';
import { concat } from '../core/texts.js';
import { Engine } from '../engine/engine.js';
import { Loading } from '../engine/loading.js';
import type { Answer, SeamModel } from '../host/seam.js';
import { fullWasm } from '../host/wasm_loader.js';
import { openGguf } from '../source/gguf_file.js';
import { loadFrom } from '../source/load_from.js';
import { kSpanConfig, type NamedBytes } from '../source/model_files.js';
import { kSourceRules, openModel } from '../source/model_source.js';
import type { ModelSpecifier, SourceOptions } from '../source/types.js';
import { openModelFiles, openWeightFile, streamWeights } from '../source/weight_files.js';
import { AutoTokenizer } from '../tokenizer/tokenizer.js';
import { namesLabels, readConfig } from '../engine/labels.js';
import type { PackParts } from './pack_parts.js';
import type { Comparison, PackOptions, PackReport, ScoredPair } from './pack_types.js';
import { pipeline } from '../tasks/pipeline.js';

/** What only this call of the full WebAssembly has. */
type BlocksHandle = SeamModel & { blocks_of(names: readonly string[]): Answer & { blocks: Uint8Array } };

/** How the engine has each tensor with `dtype: 'q8'`: HeldBlocks in src/io/weight_loader.h. */
async function blocksOf(files: readonly NamedBytes[], names: readonly string[]): Promise<Uint8Array> {
  const loading = new Loading(1, fullWasm());
  try {
    const { isSavedRanker } = await import('../source/ranking_files.js');
    const has = (wanted: string) => files.some(([name]) => name === wanted);
    const ofModules = isSavedRanker(files) ? 'ranking' : 'none';
    const head = has(kSpanConfig)
      ? 'spans'
      : namesLabels(readConfig({ files }))
        ? 'sequence'
        : has('modules.json')
          ? ofModules
          : 'own_lm';
    await loading.ask((handle) => handle.begin([...files], { precision: 'exact', dtype: 'q8', head, adapted_head: false }));
    return (await loading.ask((handle) => (handle as BlocksHandle).blocks_of(names))).blocks;
  } finally {
    loading.release();
  }
}

const kParts: PackParts = {
  loadWhole: (model, options) =>
    Engine.load({ where: 'pack', model, options: { ...options, dtype: 'f32' }, head: 'none', wasm: fullWasm() }),
  blocksOf,
  openGguf,
  loadFrom,
  openModel,
  openModelFiles,
  openWeightFile,
  streamWeights,
  AutoTokenizer,
  pipeline,
};

const kRules = {
  ...kSourceRules,
  dtype: ['f32', 'f16', 'q8', 'q4', 'mixed', 'native'],
  vocab: 'count',
  corpus: 'any',
  calibrate: 'any',
  layers: 'any',
  dim: 'count',
} as const;

/**
 * Packs a model into one GGUF file. The file includes config and tokenizer, so it loads like the original.
 *
 * Throws an `InputError` for options that do not fit the model, and an `UnsupportedError` for a model whose vocabulary or layers cannot be cut.
 *
 *     const bytes = await packModel('sentence-transformers/all-MiniLM-L6-v2', { dtype: 'q4', vocab: 16000, corpus: texts });
 *     const embed = await pipeline('feature-extraction', { 'model.gguf': bytes });
 *
 * @example
 * const bytes = await packModel('./models/bert', { dtype: 'q8' });
 * const embed = await pipeline('feature-extraction', { 'model.gguf': bytes });
 */
export async function packModel(model: ModelSpecifier, options: PackOptions = {}): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  await packTo(model, (chunk) => void chunks.push(chunk), options);
  return concat(Uint8Array, chunks);
}

/**
 * Like `packModel`, but passes the file to `write`, in order, while it is created. `write` is awaited. Only a few megabytes of the model are in memory
 * at a time.
 *
 *     const file = await (await showSaveFilePicker()).createWritable();
 *     await packTo('org/model', (chunk) => file.write(chunk), { dtype: 'q8' });
 *     await file.close();
 *
 * @example
 * let size = 0;
 * await packTo('./models/bert', (chunk) => void (size += chunk.length), { dtype: 'q8' });
 */
export async function packTo(
  model: ModelSpecifier,
  write: (chunk: Uint8Array) => void | Promise<void>,
  options: PackOptions = {},
): Promise<PackReport> {
  options = readOptions('pack', options, kRules);
  return (await import('./packing.js')).packTo(kParts, model, write, options);
}

/**
 * Measures what packing costs: compares the vectors of both models for pairs of sentences.
 *
 *     await comparePacked('./all-MiniLM-L6-v2', './small.gguf', pairs); // { pairs, cosine: { mean, worst }, spearman: { original, packed } }
 *
 * @example
 * const bytes = await packModel('./models/bert', { dtype: 'q8' });
 * const { cosine } = await comparePacked('./models/bert', { 'model.gguf': bytes }, [{ sentence1: 'a boat', sentence2: 'a ship', score: 4 }]);
 */
export async function comparePacked(
  original: ModelSpecifier,
  packed: ModelSpecifier,
  pairs: readonly ScoredPair[],
  options: SourceOptions = {},
): Promise<Comparison> {
  options = readOptions('comparePacked', options, kSourceRules);
  return (await import('./packing.js')).comparePacked(kParts, original, packed, pairs, options);
}
