// The files of models for late interaction and sparse vectors, which may lie in a folder for each module; or beside an encoder (bge-m3).
import { parseJson } from '../core/json.js';
import { concat } from '../core/texts.js';
import { openInFolder } from './folder_source.js';
import {
  checkSmall,
  kTokenPooling,
  missingFile,
  modulePath,
  readOptional,
  readPieces,
  readRequired,
  type NamedBytes,
  type Progress,
} from './model_files.js';
import type { ModelSource } from './source.js';
import { kM3Layers } from './m3_layers.js';
import { openTorchFile } from './torch_file.js';

/** In a packed file, in place of `.pt`. */
const kPackedLayer = '/model.safetensors';

/** Small files of a tokenizer. */
const kTokenizer = ['tokenizer.json', 'tokenizer_config.json', 'vocab.txt', 'special_tokens_map.json', 'added_tokens.json'];

interface Retrieval {
  /** The model with its encoder's files at the root. */
  source: ModelSource;
  /** Names of small files that other models do not have. */
  more: string[];
}

/** The module with this type, or its end, and its folder. The engine reports errors in the files. */
const typed = (module: unknown): { type: string; path: string } => {
  const { type, path } = (module ?? {}) as Record<string, unknown>;
  return { type: (typeof type === 'string' ? type : '').replace(/.*\./, ''), path: modulePath('modules.json', path) };
};

function parse(files: readonly NamedBytes[]): any {
  try {
    return files[0] && parseJson(new TextDecoder().decode(files[0][1]));
  } catch {
    return undefined;
  }
}

/** Whether there is this layer of bge-m3. Holds its .pt in the layout of safetensors, and its shape as a Dense module's config.json has it. */
async function openLayer(source: ModelSource, name: string, held: Map<string, Uint8Array>, signal: AbortSignal): Promise<boolean> {
  const file = `${name}.pt`;
  const open = await source.open(file, signal);
  if (!open) return false;
  const torch = await openTorchFile(file, source.place(file), open);
  const { pieces } = await readPieces(torch, signal, (size) => checkSmall(file, 'a file', size));
  const bytes = concat(Uint8Array, pieces);
  const length = new DataView(bytes.buffer, bytes.byteOffset).getUint32(0, true);
  const { weight } = parseJson(new TextDecoder().decode(bytes.subarray(8, 8 + length))) as { weight?: { shape?: number[] } };
  const [out_features, in_features] = weight?.shape ?? [];
  held.set(file, bytes);
  held.set(`${name}/config.json`, new TextEncoder().encode(JSON.stringify({ in_features, out_features })));
  return true;
}

/** The layers of bge-m3, as a packed file has them beside its tensors; none: the model has none. */
export async function packedLayers(source: ModelSource, files: readonly NamedBytes[], signal: AbortSignal): Promise<NamedBytes[]> {
  const list = parse(files.filter(([name]) => name === 'modules.json'));
  if (Array.isArray(list) && typed(list[1]).type !== 'Pooling') return [];
  const held = new Map<string, Uint8Array>();
  for (const name of kM3Layers) if (!(await openLayer(source, name, held, signal))) break;
  return [...held].map(([name, bytes]) => [name.replace(/\.pt$/, kPackedLayer), bytes]);
}

/** A packed model with these layers where the original has them. files: those in its header. */
export function openPackedLayers(source: ModelSource, files: readonly NamedBytes[]): ModelSource {
  const layers = files.filter(([name]) => kM3Layers.some((layer) => name === layer + kPackedLayer));
  const held = new Map(layers.map(([name, bytes]) => [name.replace(kPackedLayer, '.pt'), bytes]));
  return openInFolder(source, '', held, []);
}

/** ofTokens: whether vectors of tokens are wanted, or sparse ones alone. */
export async function openRetrieval(
  source: ModelSource,
  progress: Progress,
  signal: AbortSignal,
  ofTokens: boolean,
): Promise<Retrieval> {
  const modules = await readOptional(source, 'modules.json', progress, signal);
  const list = parse(modules);
  const found = (Array.isArray(list) ? list : []).map(typed);
  const isRouter = found.length === 1 && found[0]?.type === 'Router';
  const router = isRouter ? [await readRequired(source, 'router_config.json', progress, signal)] : [];
  const { types, structure } = parse(router) ?? {};
  const routed = Object.entries(types ?? {}).map(([path, type]) => typed({ type, path }));
  const encoder = isRouter ? modulePath('router_config.json', structure?.document?.[0]) : '';
  const held = new Map([...modules, ...router]);
  const pooling = ofTokens && found.length > 1 && found.at(-1)?.type === 'HierarchicalTokenPooling' ? found.at(-1) : undefined;
  if (pooling) {
    const [, config] = await readRequired(source, `${pooling.path}/config.json`, progress, signal);
    held.set(kTokenPooling, config);
    held.set('modules.json', new TextEncoder().encode(JSON.stringify((list as unknown[]).slice(0, -1))));
  }
  // Sentence vectors, which neither task has by themselves.
  const mayBeM3 = modules.length === 0 || found[1]?.type === 'Pooling';
  const [sparse, colbert] = kM3Layers;
  const isM3 = mayBeM3 && (await openLayer(source, sparse, held, signal));
  if (isM3 && ofTokens && !(await openLayer(source, colbert, held, signal))) throw missingFile(source, `${colbert}.pt`);
  const ofWhole = [...held.keys(), 'config_sentence_transformers.json'];
  return {
    source: openInFolder(source, encoder, held, ofWhole),
    more: [
      ...(modules.length === 0 && !isM3 ? ['artifact.metadata'] : []),
      ...[...held.keys()].filter((name) => name.includes('/')),
      ...(isRouter ? ['router_config.json'] : []),
      ...(pooling ? [kTokenPooling] : []),
      ...[...found, ...routed].flatMap(({ type, path }) => {
        if (path === '') return [];
        const names = type === 'SparseStaticEmbedding' ? ['config.json', ...kTokenizer] : [];
        if (type === 'SpladePooling' || type === 'MultiVectorMask') names.push('config.json');
        return names.map((name) => `${path}/${name}`);
      }),
    ],
  };
}
