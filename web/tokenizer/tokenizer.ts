// Loads tokenizers alone, without a model.
import { abortable, throwIfAborted } from '../core/signal.js';
import { UnsupportedError } from '../core/errors.js';
import { readFamiliar } from '../core/familiar_options.js';
import { ownCopy } from '../core/options.js';
import type { AbortSignalLike } from '../core/types.js';
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
import { kSourceRules, openModel } from '../source/model_source.js';
import type { ModelSource } from '../source/source.js';
import type { ModelSpecifier, SourceOptions } from '../source/types.js';
import type { SeamTokenizerHandle } from '../host/seam.js';
import { SeamHost } from '../host/seam_host.js';
import { tokenizerHandle } from '../host/text_calls.js';
import { ownFiles } from '../host/own_files.js';
import { compileWasm, fullWasm, instantiateWasm } from '../host/wasm_loader.js';
import { makeTokenizer, type Extras } from './make_tokenizer.js';
import type { Tokenizer, TrainOptions, TrainedTokenizer, TrainingTexts } from './types.js';

const loadExtras = () => import('./extras.js');

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
 * A tokenizer in its own instance. load: loads it into the handle, and gives its files. wasm: instead of the entry's own, which may lack what is
 * rare.
 */
async function startTokenizer(
  signal: AbortSignalLike | undefined,
  load: (host: SeamHost<SeamTokenizerHandle>, extras: Extras) => Promise<NamedBytes[]>,
  wasm = ownFiles,
): Promise<Tokenizer> {
  const extras = await abortable(loadExtras(), signal);
  const instance = await abortable(instantiateWasm(await abortable(compileWasm(false, wasm), signal)), signal);
  const host = new SeamHost('this tokenizer', instance, tokenizerHandle(instance));
  let files: NamedBytes[];
  try {
    files = await load(host, extras);
  } catch (error) {
    const full = wasm === ownFiles ? fullWasm() : undefined;
    if (!full || !(error instanceof UnsupportedError)) throw error;
    host.release();
    return startTokenizer(signal, load, full);
  }
  return makeTokenizer<SeamTokenizerHandle>(
    {
      call: (run) => host.call(run),
      describe: (handle) => handle.describe(),
      load: (changed) => void host.call((handle) => handle.load([...changed])),
    },
    files,
    extras,
    () => host.release(),
  );
}

/** What it loads. */
export type AutoTokenizer = Tokenizer;
/** Tokenizers alone, without a model's weights. */
export const AutoTokenizer = {
  /**
   * Loads tokenizer.json (or else vocab.json with merges.txt, source.spm or sentencepiece.bpe.model, vocab.txt, or a SentencePiece .model) and, if present,
   * tokenizer_config.json and chat_template.jinja. Or loads the tokenizer of a .gguf file, or a
   * .tiktoken file: gpt2, r50k_base, p50k_base, p50k_edit, cl100k_base, o200k_base, qwen. model: see `ModelSpecifier`;
   * default: the bundled model.
   */
  async from_pretrained(model?: ModelSpecifier | null, options?: SourceOptions): Promise<Tokenizer> {
    options = await readFamiliar('AutoTokenizer.from_pretrained', options, kSourceRules);
    throwIfAborted(options?.signal ?? undefined);
    const gguf = openGguf(model, options ?? {});
    const ranks = model && !gguf ? openOne(model, options ?? {}, '.tiktoken') : undefined;
    const from = (gguf ?? ranks)?.source ?? openModel(model as ModelSpecifier, options ?? {});
    return loadFrom(from, options ?? {}, async (source, progress, signal) => {
      const readConfig = async () => {
        const config = await readTokenizerSettings(source, progress, signal);
        return [...config, ...(await readChatTemplate(source, config, progress, signal))];
      };
      const work = Promise.all([
        compileWasm(false, ownFiles), // in parallel
        gguf ? [] : readTokenizerFiles(source, progress, signal, false, ranks?.file),
        gguf || ranks ? [] : readConfig(),
        gguf || ranks ? [] : readOptional(source, 'config.json', progress, signal),
        loadExtras(),
      ]);
      const [, files, config, model] = await abortable(work, signal);
      const tokenizer = await startTokenizer(signal, async (host, { ggufTokenizerFiles }) => {
        const all = [...files, ...config, ...model];
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
        return ggufTokenizerFiles(header);
      });
      progress.ready();
      return tokenizer;
    });
  },

  /** Trains a tokenizer on texts, with the same results as Hugging Face's trainers. */
  async train(texts: TrainingTexts, options: TrainOptions): Promise<TrainedTokenizer> {
    const { trainTokenizer } = await import('./training.js'); // rarely needed
    return trainTokenizer(texts, options, (files) =>
      startTokenizer(ownCopy(options)?.signal ?? undefined, async (host) => {
        host.call((handle) => handle.load(files));
        return files;
      }),
    );
  },
};
