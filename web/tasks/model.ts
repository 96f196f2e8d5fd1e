// AutoModel: the bare encoder over token ids. Masked tokens are left out before the seam and come back as zeros after it.
import { disposable } from '../core/disposable.js';
import { Engine } from '../engine/engine.js';
import { RemoteEngine, loadEngine } from '../engine/remote_engine.js';
import { readConfig, toHeadMask, toInputs, type Inputs } from '../engine/model_inputs.js';
import {
  gatherPatches,
  LensTable,
  scatterAttentions,
  scatterHeads,
  scatterTokens,
  toPatches,
  zeros,
} from '../engine/model_rows.js';
import { checkOptions, type Rules } from '../core/options.js';
import type { HeadKind, SeamEngineHandle, SeamForwardOptions } from '../host/seam.js';
import { Breather } from '../core/signal.js';
import { Tensor } from '../core/tensor.js';
import type { ForwardOptions, LoadOptions, ModelInputs, ModelOutput } from '../engine/types.js';
import type { Model } from './embed_types.js';
import type { ModelSpecifier } from '../source/types.js';

const kForwardRules: Rules = {
  output_attentions: 'boolean',
  output_hidden_states: 'boolean',
  output_qkv: 'boolean',
  logit_lens: 'index',
  head_mask: 'any',
  patch: 'any',
  signal: 'signal',
};

/** Rows that run together: at most budget tokens, or one row that is longer. Rows without a token run nowhere. */
function cutRuns(kept: readonly Int32Array[], budget: number): number[][] {
  const runs: number[][] = [];
  let tokens = Infinity;
  kept.forEach((columns, row) => {
    if (columns.length === 0) return;
    if (tokens + columns.length > budget) {
      runs.push([]);
      tokens = 0;
    }
    (runs.at(-1) as number[]).push(row);
    tokens += columns.length;
  });
  return runs;
}

type SeamOutput = ReturnType<SeamEngineHandle['forward']>;

function runRows(engine: Engine, { ids, types, kept }: Inputs, rows: readonly number[], options: SeamForwardOptions): SeamOutput {
  const starts = new Int32Array(rows.length + 1);
  rows.forEach((row, i) => (starts[i + 1] = (starts[i] as number) + (kept[row] as Int32Array).length));
  const tokens = starts[rows.length] as number;
  const [inputIds, typeIds, positions] = [new Int32Array(tokens), new Int32Array(tokens), new Int32Array(tokens)];
  rows.forEach((row, i) =>
    (kept[row] as Int32Array).forEach((column, j) => {
      const at = (starts[i] as number) + j;
      inputIds[at] = ids.data[row * ids.columns + column] as number;
      typeIds[at] = types?.data[row * ids.columns + column] ?? 0;
      positions[at] = column;
    }),
  );
  return engine.call((handle) => handle.forward(inputIds, typeIds, positions, starts, options));
}

/** Of [batch, seq, labels] the logits of one label, [batch, seq]. */
function column({ data, dims: [batch = 0, seq = 0, labels = 0] }: Tensor<'float32'>, label: number): Tensor<'float32'> {
  return new Tensor(
    'float32',
    Float32Array.from({ length: batch * seq }, (_, i) => data[i * labels + label] as number),
    [batch, seq],
  );
}

/** One forward pass of an engine that is here. */
export async function runForward(engine: Engine, modelInputs: ModelInputs, options: ForwardOptions): Promise<ModelOutput> {
  checkOptions('model', options, kForwardRules);
  const inputs = toInputs(modelInputs);
  const { rows: batch, columns: seq } = inputs.ids;
  const { hidden_size: hidden, num_hidden_layers: layers, num_attention_heads: heads, token_budget } = engine.info;
  const wantStates = options.output_hidden_states ?? false;
  const wantAttentions = options.output_attentions ?? false;
  const last = zeros('last_hidden_state', batch * seq * hidden);
  const states = Array.from({ length: wantStates ? layers + 1 : 0 }, () => zeros('hidden_states', batch * seq * hidden));
  const attentions = Array.from({ length: wantAttentions ? layers : 0 }, () => zeros('attentions', batch * heads * seq * seq));
  const perHead = { queries: [], keys: [], values: [] } as { [name in 'queries' | 'keys' | 'values']: Float32Array[] };
  if (options.output_qkv) {
    for (const [name, list] of Object.entries(perHead))
      for (let i = 0; i < layers; ++i) list.push(zeros(name, batch * seq * hidden));
  }
  const headMask = toHeadMask('head_mask', options.head_mask, layers, heads);
  const patches = toPatches(options.patch, () => inputs);
  let lens: LensTable | undefined; // made when the core has seen that so many tokens are
  const lensOf = (count: number) => (lens ??= new LensTable(inputs, layers + 1, count));
  let pooler: Float32Array | undefined;
  let logits: Tensor<'float32'> | undefined;
  const breather = new Breather();
  for (const rows of cutRuns(inputs.kept, token_budget)) {
    await breather.breathe(options.signal ?? undefined);
    const output = runRows(engine, inputs, rows, {
      hidden_states: wantStates,
      attentions: wantAttentions,
      qkv: options.output_qkv ?? false,
      logit_lens: options.logit_lens ?? 0,
      head_mask: headMask,
      patches: gatherPatches(patches, rows),
    });
    scatterTokens(last, output.last_hidden_state, rows, inputs, hidden);
    states.forEach((state, i) => scatterTokens(state, output.hidden_states[i] as Float32Array, rows, inputs, hidden));
    for (const name of ['queries', 'keys', 'values'] as const) {
      perHead[name].forEach((layer, i) =>
        scatterHeads(layer, output[name][i] as Float32Array, rows, inputs, heads, hidden / heads),
      );
    }
    attentions.forEach((layer, i) => scatterAttentions(layer, output.attentions[i] as Float32Array, rows, inputs, inputs, heads));
    if (options.logit_lens) lensOf(options.logit_lens).put(rows, output);
    if (output.logits.length > 0) {
      // One row of labels a sequence or a token.
      const tokens = output.last_hidden_state.length / hidden;
      const perToken = engine.head !== 'sequence';
      const labels = output.logits.length / (perToken ? tokens : rows.length);
      const dims = perToken ? [batch, seq, labels] : [batch, labels];
      logits ??= new Tensor('float32', zeros('logits', dims.reduce((a, b) => a * b)), dims); // prettier-ignore
      if (perToken) scatterTokens(logits.data, output.logits, rows, inputs, labels);
      else rows.forEach((row, i) => logits?.data.set(output.logits.subarray(i * labels, (i + 1) * labels), row * labels));
    }
    if (output.pooler_output.length > 0) {
      pooler ??= new Float32Array(batch * hidden);
      for (const [i, row] of rows.entries()) {
        pooler.set(output.pooler_output.subarray(i * hidden, (i + 1) * hidden), row * hidden);
      }
    }
  }
  const out: ModelOutput = { last_hidden_state: new Tensor('float32', last, [batch, seq, hidden]) };
  if (logits && engine.head === 'answer') [out.start_logits, out.end_logits] = [0, 1].map((i) => column(logits, i));
  else if (logits) out.logits = logits;
  if (pooler) out.pooler_output = new Tensor('float32', pooler, [batch, hidden]);
  if (wantStates) out.hidden_states = states.map((state) => new Tensor('float32', state, [batch, seq, hidden]));
  if (options.output_qkv) {
    const dims = [batch, heads, seq, hidden / heads];
    for (const name of ['queries', 'keys', 'values'] as const) {
      out[name] = perHead[name].map((layer) => new Tensor('float32', layer, dims));
    }
  }
  if (options.logit_lens) out.logit_lens = lensOf(options.logit_lens).toOutput();
  if (wantAttentions) out.attentions = attentions.map((layer) => new Tensor('float32', layer, [batch, heads, seq, seq]));
  return out;
}

async function loadModel(
  where: string,
  model: ModelSpecifier | undefined | null,
  options: LoadOptions = {},
  head?: HeadKind,
): Promise<Model> {
  const engine = await loadEngine(where, model, options ?? {}, head);
  const call = async (inputs: ModelInputs, forwardOptions?: ForwardOptions | null) =>
    engine instanceof RemoteEngine
      ? engine.forward(inputs, forwardOptions ?? {})
      : runForward(engine, inputs, forwardOptions ?? {});
  const rest = {
    config: readConfig(engine),
    info: () => engine.info,
    memory: () => engine.memory,
    warmup: () => engine.warmup(),
  };
  return disposable(Object.assign(call, rest), () => engine.dispose());
}

const modelClass = (name: string, head?: HeadKind) => ({
  /** Loads a model. model: see `ModelSpecifier`. */
  from_pretrained: (model?: ModelSpecifier | null, options?: LoadOptions): Promise<Model> =>
    loadModel(`${name}.from_pretrained`, model, options, head),
});

/** Encoders by themselves: token ids in, hidden states and attentions out. */
export const AutoModel = modelClass('AutoModel');
/** With the checkpoint's own head: `logits` `[batch, labels]`. */
export const AutoModelForSequenceClassification = modelClass('AutoModelForSequenceClassification', 'sequence');
/** `logits` `[batch, seq, labels]`. */
export const AutoModelForTokenClassification = modelClass('AutoModelForTokenClassification', 'token');
/** `start_logits` and `end_logits`, `[batch, seq]`. */
export const AutoModelForQuestionAnswering = modelClass('AutoModelForQuestionAnswering', 'answer');
/** `logits` `[batch, seq, vocab]`. */
export const AutoModelForMaskedLM = modelClass('AutoModelForMaskedLM', 'masked_lm');
