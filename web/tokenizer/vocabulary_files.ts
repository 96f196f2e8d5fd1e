// Finds and reads the files of a tokenizer.
import { abortable } from '../core/signal.js';
import { openGguf, openOne, readGgufMetadata } from '../source/gguf_file.js';
import { loadFrom } from '../source/load_from.js';
import {
  kChatTemplate,
  readFields,
  readOptional,
  readTokenizerFiles,
  readTokenizerSettings,
  type NamedBytes,
  type Progress,
} from '../source/model_files.js';
import { openModel } from '../source/model_source.js';
import type { ModelSource } from '../source/source.js';
import type { ModelSpecifier, SourceOptions } from '../source/types.js';
import { compileOwn, type LoadInto } from './start.js';

/** chat_template.jinja, asked for only where it may be: a decoder ends its texts and has no mask. */
function readChatTemplate(
  source: ModelSource,
  config: readonly NamedBytes[],
  progress: Progress,
  signal: AbortSignal,
): Promise<NamedBytes[]> | [] {
  const { chat_template, eos_token, mask_token } = readFields(config, 'tokenizer_config.json');
  return mask_token || !(chat_template || eos_token) ? [] : readOptional(source, kChatTemplate, progress, signal);
}

/**
 * What `start` makes of a tokenizer's files. countsOnly: no chat template is read, and of a .gguf file no files are made. beside: what else
 * is loaded meanwhile.
 */
export function loadVocabulary<T>(
  model: ModelSpecifier | null | undefined,
  options: SourceOptions,
  start: (signal: AbortSignal, load: LoadInto) => Promise<T>,
  { countsOnly = false, beside }: { countsOnly?: boolean; beside?: () => Promise<unknown> } = {},
): Promise<T> {
  const gguf = openGguf(model, options);
  const ranks = model && !gguf ? openOne(model, options, '.tiktoken') : undefined;
  const from = (gguf ?? ranks)?.source ?? openModel(model as ModelSpecifier, options);
  return loadFrom(from, options, async (source, progress, signal) => {
    const readConfig = async () => {
      const config = await readTokenizerSettings(source, progress, signal);
      return countsOnly ? config : [...config, ...(await readChatTemplate(source, config, progress, signal))];
    };
    const work = Promise.all([
      compileOwn(), // in parallel
      gguf ? [] : readTokenizerFiles(source, progress, signal, false, ranks?.file),
      gguf || ranks ? [] : readConfig(),
      gguf || ranks ? [] : readOptional(source, 'config.json', progress, signal),
      beside?.(),
    ]);
    const [, files, config, rest] = await abortable(work, signal);
    const made = await start(signal, async (host) => {
      const all = [...files, ...config, ...rest];
      if (!gguf) {
        host.call((handle) => handle.load(all));
        return all;
      }
      let header: Uint8Array = new Uint8Array();
      const accept = (bytes: Uint8Array, isWhole: boolean) => {
        header = bytes;
        return host.call((handle) => handle.load_gguf(bytes, isWhole)).is_cut_off !== true;
      };
      await abortable(readGgufMetadata(gguf, progress, signal, accept), signal);
      return countsOnly ? [] : (await import('./extras.js')).ggufTokenizerFiles(header);
    });
    progress.ready();
    return made;
  });
}
