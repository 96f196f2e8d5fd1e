// The files of a model that ranks: those of every model, and a chat template where sentence-transformers reads one.
import { kChatTemplate, readFields, readOptional, type ModelFiles, type NamedBytes, type Progress } from './model_files.js';
import type { ModelSource } from './source.js';
import { openModelFiles } from './weight_files.js';

/** Whether sentence-transformers saved the model as a CrossEncoder: Python ignores the modules and settings of other kinds. */
export const isSavedRanker = (files: readonly NamedBytes[]): boolean =>
  files.some(([name]) => name === 'modules.json') &&
  readFields(files, 'config_sentence_transformers.json')['model_type'] === 'CrossEncoder';

/** A pair becomes messages where the module Transformer says so, or where nothing is said and the model is a decoder. */
function readsTemplate(files: readonly NamedBytes[], isDecoder: boolean): boolean {
  const isSaved = isSavedRanker(files);
  const { modality_config } = readFields(files, 'sentence_bert_config.json') as { modality_config?: { message?: unknown } };
  return isSaved ? !!modality_config?.message : isDecoder;
}

export async function openRanking(
  source: ModelSource,
  progress: Progress,
  signal: AbortSignal,
  kindOf: (files: NamedBytes[]) => Promise<{ kind: string }>,
): Promise<ModelFiles> {
  const opened = await openModelFiles(source, progress, signal);
  const { files, from = source } = opened;
  const config = files.filter(([name]) => name === 'config.json');
  if (config.length === 0 || !readsTemplate(files, (await kindOf(config)).kind === 'decoder')) return opened;
  return { ...opened, files: [...files, ...(await readOptional(from, kChatTemplate, progress, signal))] };
}
