// AutoModelForCausalLM, AutoModelForSeq2SeqLM: a decoder, or an encoder with one, over token ids. What they do is loaded when it is
// asked for.
import { loadEngine } from '../engine/remote_engine.js';
import type { CausalModel, Seq2SeqModel } from './causal_types.js';
import type { LoadOptions } from '../engine/types.js';
import type { ModelSpecifier } from '../source/types.js';

/** Decoders by themselves: token ids in, logits, hidden states and attentions out. */
export const AutoModelForCausalLM = {
  /** Loads a model. model: see `ModelSpecifier`. */
  async from_pretrained(model: ModelSpecifier, options?: LoadOptions): Promise<CausalModel> {
    const engine = await loadEngine('AutoModelForCausalLM.from_pretrained', model, options ?? {}, 'causal_lm');
    return (await import('./causal_forward.js')).makeCausalModel(engine);
  },
};

/** Encoder-decoders by themselves: ids of a source and of what the decoder has so far in, logits and all attentions out. */
export const AutoModelForSeq2SeqLM = {
  /** Loads a model. model: see `ModelSpecifier`. */
  async from_pretrained(model: ModelSpecifier, options?: LoadOptions): Promise<Seq2SeqModel> {
    const engine = await loadEngine('AutoModelForSeq2SeqLM.from_pretrained', model, options ?? {}, 'seq2seq_lm');
    return (await import('./seq2seq_forward.js')).makeSeq2SeqModel(engine);
  },
};
