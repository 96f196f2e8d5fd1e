// The files of models for late interaction and sparse vectors, which may lie in a folder for each module.
import { parseJson } from '../core/json.js';
import { openInFolder } from './folder_source.js';
import { modulePath, readOptional, readRequired, type NamedBytes, type Progress } from './model_files.js';
import type { ModelSource } from './source.js';

/** Small files of a tokenizer. */
const kTokenizer = ['tokenizer.json', 'tokenizer_config.json', 'vocab.txt'];

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

export async function openRetrieval(source: ModelSource, progress: Progress, signal: AbortSignal): Promise<Retrieval> {
  const modules = await readOptional(source, 'modules.json', progress, signal);
  const list = parse(modules);
  const found = (Array.isArray(list) ? list : []).map(typed);
  const isRouter = found.length === 1 && found[0]?.type === 'Router';
  const router = isRouter ? [await readRequired(source, 'router_config.json', progress, signal)] : [];
  const { types, structure } = parse(router) ?? {};
  const routed = Object.entries(types ?? {}).map(([path, type]) => typed({ type, path }));
  const encoder = isRouter ? modulePath('router_config.json', structure?.document?.[0]) : '';
  const held = new Map([...modules, ...router]);
  const ofWhole = [...held.keys(), 'config_sentence_transformers.json'];
  return {
    source: openInFolder(source, encoder, held, ofWhole),
    more: [
      ...(modules.length === 0 ? ['artifact.metadata'] : []),
      ...(isRouter ? ['router_config.json'] : []),
      ...[...found, ...routed].flatMap(({ type, path }) => {
        if (path === '') return [];
        const names = type === 'SparseStaticEmbedding' ? ['config.json', ...kTokenizer] : [];
        if (type === 'SpladePooling' || type === 'MultiVectorMask') names.push('config.json');
        return names.map((name) => `${path}/${name}`);
      }),
    ],
  };
}
