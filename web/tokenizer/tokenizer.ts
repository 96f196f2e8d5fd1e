// Loads tokenizers alone, without a model.
import { abortable, throwIfAborted } from '../core/signal.js';
import { readFamiliar } from '../core/familiar_options.js';
import { ownCopy } from '../core/options.js';
import type { AbortSignalLike } from '../core/types.js';
import { kSourceRules } from '../source/model_source.js';
import type { ModelSpecifier, SourceOptions } from '../source/types.js';
import type { SeamTokenizerHandle } from '../host/seam.js';
import { makeTokenizer } from './make_tokenizer.js';
import { startHost, type LoadInto } from './start.js';
import type { Tokenizer, TrainOptions, TrainedTokenizer, TrainingTexts } from './types.js';
import { loadVocabulary } from './vocabulary_files.js';

const loadExtras = () => import('./extras.js');

/** A tokenizer in its own instance. load: see startHost. */
async function startTokenizer(signal: AbortSignalLike | undefined, load: LoadInto): Promise<Tokenizer> {
  const extras = await abortable(loadExtras(), signal);
  const { host, files } = await startHost(signal, load);
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

/** The type of a loaded tokenizer. */
export type AutoTokenizer = Tokenizer;
/** Loads tokenizers, without a model's weights. */
export const AutoTokenizer = {
  /**
   * Loads a tokenizer. Reads tokenizer.json (or else vocab.json with merges.txt, source.spm or sentencepiece.bpe.model, vocab.txt, or a SentencePiece
   * .model) and, if present, tokenizer_config.json and chat_template.jinja. Also reads the tokenizer of a .gguf file, and .tiktoken files: gpt2,
   * r50k_base, p50k_base, p50k_edit, cl100k_base, o200k_base, qwen. `model`: see `ModelSpecifier`; default: the bundled model.
   */
  async from_pretrained(model?: ModelSpecifier | null, options?: SourceOptions): Promise<Tokenizer> {
    options = await readFamiliar('AutoTokenizer.from_pretrained', options, kSourceRules);
    throwIfAborted(options?.signal ?? undefined);
    return loadVocabulary(model, options ?? {}, startTokenizer, { beside: loadExtras });
  },

  /** Trains a tokenizer on texts. Results match Hugging Face's trainers. */
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
