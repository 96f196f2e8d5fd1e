// One number of a model's output, and runs of one text in many changed copies.
import { describe, InputError } from '../../core/errors.js';
import { ownCopy, readOptions } from '../../core/options.js';
import { Tensor } from '../../core/tensor.js';
import { toInputs } from '../../engine/model_inputs.js';
import type { ForwardOptions, ModelInputs, ModelOutput } from '../../engine/types.js';
import type { Model } from '../../tasks/embed_types.js';
import type { OutputGradient } from '../../tasks/input_gradient.js';
import type { CosineMetric, LogitMetric, Metric, MetricFunction } from './types.js';

/** The tap at which attribution takes place: what the first layer reads. */
export const kEmbeddings = 'embeddings.output';
const kMostFloats = 2 ** 22; // of the largest tensor of one call

/** One text: `[1, seq]` of ids, types and mask. */
export interface OneText {
  seq: number;
  ids: Int32Array;
  types: Int32Array | undefined;
  mask: Int32Array;
}

/** where: the function's name, for messages. */
export function readOne(where: string, inputs: ModelInputs): OneText {
  const { ids, types, kept } = toInputs(inputs);
  if (ids.rows !== 1 || ids.columns === 0) {
    throw new InputError(`${where}: expected the tokens of one text, dims [1, seq], found [${ids.rows},${ids.columns}]`);
  }
  const mask = new Int32Array(ids.columns);
  for (const column of kept[0] as Int32Array) mask[column] = 1;
  return { seq: ids.columns, ids: ids.data, types: types?.data, mask };
}

/** Copies of one text; masks: of each copy, if they differ. */
export function copiesOf({ seq, ids, types, mask }: OneText, count: number, masks?: readonly Int32Array[]): ModelInputs {
  const repeat = (rows: (row: number) => Int32Array) => {
    const data = new Int32Array(count * seq);
    for (let row = 0; row < count; ++row) data.set(rows(row), row * seq);
    return new Tensor('int32', data, [count, seq]);
  };
  return {
    input_ids: repeat(() => ids),
    attention_mask: repeat((row) => masks?.[row] ?? mask),
    ...(types && { token_type_ids: repeat(() => types) }),
  };
}

export const runOne = (model: Model, text: OneText, options: ForwardOptions = {}): Promise<ModelOutput> =>
  model(copiesOf(text, 1), options);

/** How one copy of a text differs: rows of a tap `[seq, width]`, its mask or its heads. */
export interface Change {
  mask?: Int32Array;
  values?: Float32Array;
}

/**
 * The metric of each changed copy. tap: which activation `values` replace. perRow: floats of the largest output of a copy, such as seq x vocabulary.
 */
export async function measureAll(
  model: Model,
  text: OneText,
  { tap, changes, width, perRow }: { tap?: string; changes: readonly Change[]; width: number; perRow: number },
  metric: MetricFunction,
  options: ForwardOptions,
): Promise<number[]> {
  const most = Math.max(1, Math.floor(kMostFloats / Math.max(text.seq * width, perRow)));
  const found: number[] = [];
  for (let begin = 0; begin < changes.length; begin += most) {
    const part = changes.slice(begin, begin + most);
    let patch;
    if (tap !== undefined) {
      const data = new Float32Array(part.length * text.seq * width);
      part.forEach(({ values }, i) => data.set(values as Float32Array, i * text.seq * width));
      patch = { [tap]: new Tensor('float32', data, [part.length, text.seq, width]) };
    }
    const masks = part.map(({ mask }) => mask ?? text.mask);
    const output = await model(copiesOf(text, part.length, masks), { ...options, ...(patch && { patch }) });
    part.forEach((_, row) => found.push(checked(metric(maskedBy(output, masks), row))));
  }
  return found;
}

function checked(value: unknown): number {
  if (typeof value === 'number' && Number.isFinite(value)) return value;
  throw new InputError(`metric: expected a finite number, found ${describe(value)}`);
}

/** The metric of a run of one copy. */
export const measureOne = (output: ModelOutput, { mask }: OneText, metric: MetricFunction): number =>
  checked(metric(maskedBy(output, [mask]), 0));

const kMasks = new WeakMap<ModelOutput, readonly Int32Array[]>();

function maskedBy(output: ModelOutput, masks: readonly Int32Array[]): ModelOutput {
  kMasks.set(output, masks);
  return output;
}

/** The mean of last_hidden_state over the unmasked tokens of a row: [hidden]. */
export function meanVector(output: ModelOutput, row: number, mask = kMasks.get(output)?.[row]): Float64Array {
  const { data, dims } = output.last_hidden_state;
  const [, seq = 0, hidden = 0] = dims;
  const mean = new Float64Array(hidden);
  let count = 0;
  for (let i = 0; i < seq; ++i) {
    if (mask && mask[i] === 0) continue;
    ++count;
    const from = (row * seq + i) * hidden;
    for (let k = 0; k < hidden; ++k) mean[k]! += data[from + k] as number;
  }
  return mean.map((sum) => sum / Math.max(1, count));
}

function cosine(a: ArrayLike<number>, b: ArrayLike<number>): number {
  let [dot, aa, bb] = [0, 0, 0];
  for (let k = 0; k < a.length; ++k) {
    dot += (a[k] as number) * (b[k] as number);
    aa += (a[k] as number) ** 2;
    bb += (b[k] as number) ** 2;
  }
  return aa === 0 || bb === 0 ? 0 : dot / Math.sqrt(aa * bb);
}

/** A metric whose derivative is known. */
export interface NamedMetric extends MetricFunction {
  /** The outputs' gradient for the first row; its token is a column. */
  gradient?(output: ModelOutput, text: OneText): OutputGradient;
}

const kNothing = new Float32Array();

function logitOf(where: string, { logit, against, position = -1 }: LogitMetric): NamedMetric {
  /** The row of logits that is read, by its column and where it begins. */
  const find = (output: ModelOutput, row: number) => {
    const { logits } = output;
    if (!logits)
      throw new InputError(`${where}: option 'metric': logit: expected a model with a head (AutoModelFor..), found none`);
    const width = logits.dims.at(-1) as number;
    const seq = logits.dims.length === 3 ? (logits.dims[1] as number) : 1;
    const kept = Array.from({ length: seq }, (_, i) => i).filter((i) => kMasks.get(output)?.[row]?.[i] !== 0);
    const column = logits.dims.length === 2 ? 0 : position < 0 ? (kept.at(position) ?? -1) : position;
    if (!(Number.isInteger(column) && column >= 0 && column < seq)) {
      throw new InputError(`${where}: option 'metric': position: expected one of ${seq} tokens, found ${position}`);
    }
    for (const index of [logit, against ?? 0]) {
      if (Number.isInteger(index) && index >= 0 && index < width) continue;
      throw new InputError(`${where}: option 'metric': expected an index below ${width}, found ${describe(index)}`);
    }
    return { data: logits.data, begin: (row * seq + column) * width, width, column };
  };
  const value = (output: ModelOutput, row: number) => {
    const { data, begin } = find(output, row);
    return (data[begin + logit] as number) - (against === undefined ? 0 : (data[begin + against] as number));
  };
  const gradient: NamedMetric['gradient'] = (output) => {
    const { width, column } = find(output, 0);
    const logits = new Float32Array(width);
    logits[logit] = 1;
    if (against !== undefined) logits[against]! -= 1;
    return { hidden: kNothing, logits, token: column };
  };
  return Object.assign(value, { gradient });
}

function cosineTo(where: string, vector: Float64Array): NamedMetric {
  const value = (output: ModelOutput, row: number) => {
    const mean = meanVector(output, row);
    if (mean.length === vector.length) return cosine(mean, vector);
    throw new InputError(`${where}: option 'metric': cosine: expected ${mean.length} numbers, found ${vector.length}`);
  };
  const gradient: NamedMetric['gradient'] = (output, { seq, mask }) => {
    const mean = meanVector(output, 0, mask);
    const [length, other] = [Math.hypot(...mean), Math.hypot(...vector)];
    const hidden = new Float32Array(seq * mean.length);
    if (length === 0 || other === 0) return { hidden, logits: kNothing, token: 0 };
    const now = cosine(mean, vector);
    const count = mask.reduce((sum, kept) => sum + kept, 0);
    // d cos(a, b) / da = b / (|a| |b|) - cos(a, b) a / |a|^2, of a mean over the tokens.
    const row = mean.map((x, k) => ((vector[k] as number) / (length * other) - (now * x) / length ** 2) / count);
    for (let token = 0; token < seq; ++token) if (mask[token]) hidden.set(row, token * row.length);
    return { hidden, logits: kNothing, token: 0 };
  };
  return Object.assign(value, { gradient });
}

/** The caller's metric as a function; undefined if there is none. */
export function toMetric(where: string, metric: Metric | undefined | null): NamedMetric | undefined {
  if (metric === undefined || metric === null || typeof metric === 'function') return metric ?? undefined;
  const own = ownCopy(metric) as Partial<LogitMetric & CosineMetric>;
  if (typeof own === 'object' && own.cosine !== undefined) {
    const { cosine: given } = readOptions(`${where}: metric`, own, { cosine: 'any' });
    return cosineTo(where, Float64Array.from(given as ArrayLike<number>));
  }
  if (typeof own === 'object' && own.logit !== undefined) {
    const given = readOptions(`${where}: metric`, own, { logit: 'index', against: 'index', position: 'number' });
    return logitOf(where, given as LogitMetric);
  }
  throw new InputError(`${where}: option 'metric': expected { logit }, { cosine } or a function, found ${describe(metric)}`);
}

/** The label with the largest logit, of a model with labels for whole texts. */
export function winnerOf({ logits }: ModelOutput): number | undefined {
  if (logits?.dims.length !== 2) return undefined;
  return logits.data.reduce((best, value, i) => (value > (logits.data[best] as number) ? i : best), 0);
}

/** The metric that is taken if the caller gives none. against: the other run of two. */
export function defaultMetric(where: string, output: ModelOutput, text: OneText, against?: ModelOutput): NamedMetric {
  const logit = winnerOf(output);
  if (logit !== undefined) {
    const other = against && winnerOf(against);
    return logitOf(where, { logit, ...(other !== undefined && other !== logit && { against: other }) });
  }
  if (output.logits || output.start_logits) {
    throw new InputError(`${where}: option 'metric': expected { logit, position } for a model with logits per token, found none`);
  }
  return toMetric(where, { cosine: meanVector(output, 0, text.mask) }) as NamedMetric;
}

/** Floats of the largest output of one copy. */
export const perRowOf = (output: ModelOutput): number =>
  Math.max(output.last_hidden_state.data.length, output.logits?.data.length ?? 0);

/** What one token's vector is replaced with: [seq, width], a copy of `own` with row `token` of `other`. */
export function withRow(own: Float32Array, other: Float32Array, token: number, width: number): Float32Array {
  const mixed = own.slice();
  mixed.set(other.subarray(token * width, (token + 1) * width), token * width);
  return mixed;
}
