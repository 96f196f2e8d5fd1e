// AutoModel and its variants with heads: check options, pack rows, lay out results. forward.ts runs them.
import { ModelFormatError, UnsupportedError } from '../core/errors.js';
import { readOptions } from '../core/options.js';
import { Tensor } from '../core/tensor.js';
import type { AnyEngine } from '../engine/engine.js';
import { asModel, kForwardRules, toHeadMask, toInputs, type Inputs } from '../engine/model_inputs.js';
import { toPatches } from '../engine/model_rows.js';
import { loadEngine } from '../engine/load_engine.js';
import type { ModelInputs, ModelOptions, ModelOutput } from '../engine/types.js';
import type { HeadKind } from '../host/seam.js';
import { readJson } from '../source/model_files.js';
import type { ModelSpecifier } from '../source/types.js';
import type { CausalForwardOptions, CausalModel, Seq2SeqModel } from './causal_types.js';
import type { Model } from '../tasks/embed_types.js';
import type { ModelGenerateOptions } from '../generation/generation_types.js';
import { readConfig } from '../engine/labels.js';
import { Layout, packRuns, type Result, type Run, type RunOptions } from '../tasks/forward.js';

/** One label's logits, [batch, seq], from [batch, seq, labels]. */
function column({ data, dims: [batch = 0, seq = 0, labels = 0] }: Tensor<'float32'>, label: number): Tensor<'float32'> {
  return new Tensor(
    'float32',
    Float32Array.from({ length: batch * seq }, (_, i) => data[i * labels + label] as number),
    [batch, seq],
  );
}

/** Sets the logits of a head, per text or per token. */
function setLogits(out: ModelOutput, layout: Layout, inputs: Inputs, head: HeadKind, runs: Run[], results: Result[]): void {
  const total = results.reduce((sum, { logits }) => sum + logits.length, 0);
  if (total === 0) return;
  const perToken = head !== 'sequence';
  const count = runs.reduce((sum, { rows, input_ids }) => sum + (perToken ? input_ids.length : rows.length), 0);
  const logits = (perToken ? layout.tokens : layout.rows)(inputs, total / count)((result) => result.logits);
  if (head === 'answer') [out.start_logits, out.end_logits] = [0, 1].map((i) => column(logits, i));
  else out.logits = logits;
}

/** For an encoder-decoder with a head over its decoder (BART): the encoder reads a row, the decoder the same row shifted right. */
function shiftRight({ input_ids, ...run }: Run, engine: AnyEngine): Run {
  const start = readConfig(engine)['decoder_start_token_id'];
  if (typeof start !== 'number') throw new ModelFormatError(`config.json: decoder_start_token_id: expected an id, found ${start}`);
  const shifted = Int32Array.from(input_ids, (_, i) => (i === 0 ? start : (input_ids[i - 1] as number)));
  return { ...run, input_ids: shifted, source: input_ids };
}

async function runModel(
  engine: AnyEngine,
  head: HeadKind,
  given: ModelInputs,
  options: CausalForwardOptions,
): Promise<ModelOutput> {
  const isCausal = head === 'causal_lm';
  options = readOptions('model', options, isCausal ? { ...kForwardRules, output_logits: 'boolean' } : kForwardRules);
  const inputs = toInputs(given);
  const { info } = engine;
  const { hidden_size: hidden, num_hidden_layers: layers, num_attention_heads: heads, num_key_value_heads, head_dim } = info;
  const patches = toPatches(options.patch, () => inputs);
  const hasDecoder = info.max_source_length !== undefined;
  const runs = hasDecoder
    ? packRuns(inputs, 0, patches).map((run) => shiftRight(run, engine))
    : packRuns(inputs, isCausal ? 0 : info.token_budget, patches);
  const request: RunOptions = {
    adapter: options.adapter ?? engine.adapters?.active,
    hidden_states: options.output_hidden_states ?? false,
    attentions: options.output_attentions ?? false,
    qkv: options.output_qkv ?? false,
    logits: options.output_logits ?? true,
    logit_lens: options.logit_lens ?? 0,
    head_mask: toHeadMask('head_mask', options.head_mask, layers, heads),
  };
  const results = (await engine.run('forward', runs, request, options.signal ?? undefined)) as Result[];
  const layout = new Layout(runs, results);
  const states = layout.tokens(inputs, hidden);
  const out: ModelOutput = { last_hidden_state: states((result) => result.last_hidden_state) };
  if (!isCausal) setLogits(out, layout, inputs, head, runs, results);
  else if (request.logits) out.logits = layout.tokens(inputs, info.vocab_size)((result) => result.logits);
  if (results.some(({ pooler_output }) => pooler_output.length > 0)) {
    out.pooler_output = layout.rows(inputs, hidden)((result) => result.pooler_output);
  }
  if (options.output_hidden_states) out.hidden_states = layout.layers('hidden_states', layers + 1, states);
  if (options.output_qkv) {
    out.queries = layout.layers('queries', layers, layout.heads(inputs, heads, head_dim));
    const keys = layout.heads(inputs, num_key_value_heads, head_dim);
    for (const name of ['keys', 'values'] as const) out[name] = layout.layers(name, layers, keys);
  }
  if (options.logit_lens) out.logit_lens = layout.lens(inputs, layers + 1, options.logit_lens);
  if (options.output_attentions) {
    out.attentions = layout.layers('attentions', layers, layout.attentions(inputs, inputs, heads));
  }
  return out;
}

async function loadModel<M = Model>(
  name: string,
  head: HeadKind,
  model: ModelSpecifier | undefined | null,
  options: ModelOptions | undefined,
): Promise<M> {
  const engine = await loadEngine(`${name}.from_pretrained`, model, options ?? {}, head, true);
  if (engine.info.head === 'labels') {
    await engine.dispose();
    throw new UnsupportedError(
      `${name}.from_pretrained: expected a model with labels of its own, found one that scores labels which a call names (GLiClass): use pipeline('zero-shot-classification')`,
    );
  }
  const call = (inputs: ModelInputs, forwardOptions?: CausalForwardOptions | null) =>
    runModel(engine, head, inputs, forwardOptions ?? {});
  const loaded = asModel(engine, call);
  if (head === 'causal_lm') return withGenerate(engine, loaded) as unknown as M;
  const generate = async () => {
    throw new UnsupportedError(`${name}: generate: expected AutoModelForCausalLM or AutoModelForSeq2SeqLM, found ${name}`);
  };
  return Object.assign(loaded, { generate }) as unknown as M;
}

/** A model with `generate`, whose code is loaded by its first call. */
const withGenerate = <M extends object>(engine: AnyEngine, model: M) =>
  Object.assign(model, {
    generation_config: { ...readJson(engine.files, 'generation_config.json') },
    generate: async (options: ModelGenerateOptions) => (await import('./generate.js')).generateFamiliar(engine, options),
  });

// Objects, not the results of a call: a bundler leaves out those that a page does not name.
/** The type of a loaded model. */
export type AutoModel = Model;
/** Loads a model without its head: token ids in, hidden states and attentions out. From an encoder-decoder it loads the encoder. */
export const AutoModel = {
  /** Loads a model. See `ModelSpecifier` for `model`. */
  from_pretrained: (model?: ModelSpecifier | null, options?: ModelOptions): Promise<Model> =>
    loadModel('AutoModel', 'none', model, options),
};

/** The type of a loaded model. */
export type AutoModelForSequenceClassification = Model;
/** Loads a model with its classification head. `logits` are `[batch, labels]`. */
export const AutoModelForSequenceClassification = {
  /** Loads a model. See `ModelSpecifier` for `model`. */
  from_pretrained: (model?: ModelSpecifier | null, options?: ModelOptions): Promise<Model> =>
    loadModel('AutoModelForSequenceClassification', 'sequence', model, options),
};

/** The type of a loaded model. */
export type AutoModelForTokenClassification = Model;
/** Loads a model with its token classification head. `logits` are `[batch, seq, labels]`. */
export const AutoModelForTokenClassification = {
  /** Loads a model. See `ModelSpecifier` for `model`. */
  from_pretrained: (model?: ModelSpecifier | null, options?: ModelOptions): Promise<Model> =>
    loadModel('AutoModelForTokenClassification', 'token', model, options),
};

/** The type of a loaded model. */
export type AutoModelForQuestionAnswering = Model;
/** Loads a model with its question-answering head. `start_logits` and `end_logits` are `[batch, seq]`. */
export const AutoModelForQuestionAnswering = {
  /** Loads a model. See `ModelSpecifier` for `model`. */
  from_pretrained: (model?: ModelSpecifier | null, options?: ModelOptions): Promise<Model> =>
    loadModel('AutoModelForQuestionAnswering', 'answer', model, options),
};

/** The type of a loaded model. */
export type AutoModelForMaskedLM = Model;
/** Loads a masked language model. `logits` are `[batch, seq, vocab]`. */
export const AutoModelForMaskedLM = {
  /** Loads a model. See `ModelSpecifier` for `model`. */
  from_pretrained: (model?: ModelSpecifier | null, options?: ModelOptions): Promise<Model> =>
    loadModel('AutoModelForMaskedLM', 'masked_lm', model, options),
};

/** The type of a loaded decoder. */
export type AutoModelForCausalLM = CausalModel;
/** Loads a decoder: token ids in, logits, hidden states and attentions out. */
export const AutoModelForCausalLM = {
  /** Loads a model. See `ModelSpecifier` for `model`. */
  from_pretrained: (model?: ModelSpecifier | null, options?: ModelOptions): Promise<CausalModel> =>
    loadModel<CausalModel>('AutoModelForCausalLM', 'causal_lm', model, options),
};

/** The type of a loaded encoder-decoder. */
export type AutoModelForSeq2SeqLM = Seq2SeqModel;
/** Loads an encoder-decoder: ids of the source and of the target so far in, logits and all attentions out. */
export const AutoModelForSeq2SeqLM = {
  /** Loads a model. See `ModelSpecifier` for `model`. */
  async from_pretrained(model: ModelSpecifier, options?: ModelOptions): Promise<Seq2SeqModel> {
    const engine = await loadEngine('AutoModelForSeq2SeqLM.from_pretrained', model, options ?? {}, 'seq2seq_lm', true);
    return withGenerate(engine, (await import('./seq2seq_forward.js')).makeSeq2SeqModel(engine)) as unknown as Seq2SeqModel;
  },
};
