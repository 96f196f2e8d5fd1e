// A model's layers, counted and printed as by torchinfo 1.8.
import { describe, InputError } from '../core/errors.js';
import { readOptions } from '../core/options.js';
import { collect, Module, traced, type TraceRow } from './module.js';
import { Tensor } from '../core/tensor.js';
import { TensorBase } from '../core/tensor_base.js';
import { no_grad } from './tensor.js';

/** The result of `summary`: a module's layers with their sizes. */
export interface Summary {
  /** One row per layer. */
  rows: TraceRow[];
  /** Number of parameters, counted as in torchinfo: a shared weight counts in every layer. `model.num_parameters()` counts it once. */
  total_params: number;
  /** `total_params` without parameters frozen by `requires_grad_(false)`. */
  trainable_params: number;
  /** Mult-adds, counted as in torchinfo: each layer's parameters times the first dimension of its output, without attention's own products. */
  total_mult_adds: number;
  /** Multiply-accumulate operations of the forward pass: tokens by weights, queries by the keys they attend to, probabilities by values. */
  total_macs: number;
  /** Megabytes (10^6) of the inputs, counted as in torchinfo. */
  input_mb: number;
  /** Megabytes of the outputs of layers with parameters, counted twice as for training. */
  output_mb: number;
  /** Megabytes of the parameters of layers without children. */
  params_mb: number;
  /** The sum of the other three, in megabytes. */
  total_mb: number;
  /** The table as text. `columns`: the columns to show, by default all. Without `'macs'` it matches torchinfo's. */
  toString(options?: { columns?: readonly SummaryColumn[] }): string;
}
/** The name of a column in the table. */
export type SummaryColumn = keyof typeof kTitles;

const kTitles = {
  input: 'Input Shape',
  output: 'Output Shape',
  kernel: 'Kernel Shape',
  parameters: 'Param #',
  mult_adds: 'Mult-Adds',
  macs: 'MACs',
} as const;
const kColumnWidth = 25;
const kNameWidth = 40;

const sizeOf = (dims: readonly number[]) => dims.reduce((size, dim) => size * dim, 1);
const shape = (dims: readonly number[]) => (dims.length > 0 ? `[${dims.join(', ')}]` : '--');
const count = (value: number) => (value > 0 ? value.toLocaleString('en-US') : '--');

/** 1234 -> "1,234", in torchinfo's units. */
function amount(value: number): string {
  const [unit, size] = value >= 1e12 ? ['T', 1e12] : value >= 1e9 ? ['G', 1e9] : ['M', 1e6];
  const scaled = value / (size as number);
  const digits = Number.isInteger(scaled) ? 0 : 2;
  return ` (${unit}): ${scaled.toLocaleString('en-US', { minimumFractionDigits: digits, maximumFractionDigits: digits })}`;
}

function nameOf(row: TraceRow, index: number): string {
  if (row.depth === 0) return row.type;
  const start = row.depth === 1 ? '├─' : `${'│    '.repeat(row.depth - 1)}└─`;
  return `${start}${row.type}: ${row.depth}-${index}`;
}

/** For each row, its parameters without those of the rows inside it. */
function leftoverParameters(rows: readonly TraceRow[]): number[] {
  const leftover = rows.map(({ parameters }) => parameters);
  for (let i = rows.length - 1; i >= 0; --i) {
    const { depth, is_leaf } = rows[i] as TraceRow;
    if (is_leaf) continue;
    for (let j = i + 1; (rows[j]?.depth ?? 0) > depth; ++j) {
      if (!rows[j]?.is_recursive) (leftover[i] as number) -= leftover[j] as number;
    }
  }
  return leftover;
}

function cell(row: TraceRow, column: SummaryColumn, leftover: number): string {
  switch (column) {
    case 'parameters':
      return row.is_recursive && row.parameters > 0 ? '(recursive)' : count(leftover);
    case 'mult_adds':
    case 'macs':
      return count(row[column]);
    default:
      return shape(row[column]);
  }
}

function table(summary: Omit<Summary, 'toString'>, columns: readonly SummaryColumn[]): string {
  const seen: number[] = [];
  const names = summary.rows.map((row) => nameOf(row, (seen[row.depth] = (seen[row.depth] ?? 0) + 1)));
  const longest = Math.max(...summary.rows.map((row) => row.depth * 5 + 1 + `${row.type}: ${row.depth}-${seen[row.depth]}`.length));
  const nameWidth = longest >= kNameWidth ? Math.ceil(longest / 5) * 5 : kNameWidth;
  const line = (name: string, cells: readonly string[]) =>
    [name.padEnd(nameWidth), ...cells.map((each) => each.padEnd(kColumnWidth))].join(' ').trimEnd();
  const rule = '='.repeat(columns.length * kColumnWidth + nameWidth);
  const mb = (value: number) => value.toFixed(2);
  const { rows, total_params, trainable_params } = summary;
  const leftover = leftoverParameters(rows);
  return [
    rule,
    line(
      'Layer (type:depth-idx)',
      columns.map((column) => kTitles[column]),
    ),
    rule,
    ...rows.map((row, i) =>
      line(
        names[i] as string,
        columns.map((column) => cell(row, column, leftover[i] as number)),
      ),
    ),
    rule,
    `Total params: ${total_params.toLocaleString('en-US')}`,
    `Trainable params: ${trainable_params.toLocaleString('en-US')}`,
    `Non-trainable params: ${(total_params - trainable_params).toLocaleString('en-US')}`,
    `Total mult-adds${amount(summary.total_mult_adds)}`,
    ...(columns.includes('macs') ? [`Total MACs${amount(summary.total_macs)}`] : []),
    rule,
    `Input size (MB): ${mb(summary.input_mb)}`,
    `Forward/backward pass size (MB): ${mb(summary.output_mb)}`,
    `Params size (MB): ${mb(summary.params_mb)}`,
    `Estimated Total Size (MB): ${mb(summary.total_mb)}`,
    rule,
  ].join('\n');
}

/** The shape of one input, or the shapes of several inputs (for a decoder: target and memory). */
export type InputShape = readonly number[] | readonly (readonly number[])[];

/**
 * Runs the model on zeros of the given shape and lists each layer's type, shapes, parameters, mult-adds and MACs, then the totals. Parameters and
 * mult-adds match torchinfo; MACs count the multiplications of the forward pass. `String(summary(model, [1, 8, 64]))` is the table.
 *
 * @example
 * nn.summary(new nn.Linear(4, 2), [1, 4]).total_params; // => 10
 */
export function summary(model: Module, input_shape: InputShape): Summary {
  if (!(model instanceof Module)) throw new InputError(`nn.summary: expected a module, found ${describe(model)}`);
  const shapes = (Array.isArray(input_shape[0]) ? input_shape : [input_shape]) as number[][];
  const inputs = shapes.map((dims) => new Tensor('float32', new Float32Array(sizeOf(dims)), dims));
  model.pause();
  let rows: TraceRow[];
  try {
    rows = no_grad(() => trace(model, ...inputs)).rows;
  } finally {
    model.resume();
  }
  const leaves = rows.filter((row) => row.is_leaf);
  const first = rows.filter((row) => !row.is_recursive);
  const leftover = leftoverParameters(rows);
  const bytes = {
    input: 4 * shapes.reduce((sum, dims) => sum + sizeOf(dims), 0),
    output: 8 * leaves.reduce((sum, row) => sum + (row.parameters > 0 ? sizeOf(row.output) : 0), 0),
    params: 4 * first.reduce((sum, row) => sum + (row.is_leaf ? row.parameters : 0), 0),
  };
  const total_params = rows.reduce((sum, row, i) => sum + (row.is_recursive ? 0 : Math.max(0, leftover[i] as number)), 0);
  const facts = {
    rows,
    total_params,
    trainable_params: total_params - model.num_parameters() + model.num_parameters({ only_trainable: true }),
    total_mult_adds: rows.reduce((sum, row) => sum + row.mult_adds, 0),
    total_macs: rows[0]?.macs ?? 0,
    input_mb: bytes.input / 1e6,
    output_mb: bytes.output / 1e6,
    params_mb: bytes.params / 1e6,
    total_mb: (bytes.input + bytes.output + bytes.params) / 1e6,
  };
  return {
    ...facts,
    toString(options) {
      options = readOptions('nn.summary.toString', options, { columns: 'any' });
      return table(facts, options?.columns ?? (Object.keys(kTitles) as SummaryColumn[]));
    },
  };
}

/**
 * Runs the model and records the output of every submodule: `rows` in the order of calls, each with its `tensor`. With `{ need_weights: true }` as the
 * last argument, attention rows have `weights`.
 *
 * @example
 * nn.trace(new nn.Linear(4, 2), nn.ones(1, 4)).rows.length; // => 1
 */
export function trace(model: Module, ...inputs: any[]): { output: unknown; rows: TraceRow[] } {
  const first = inputs[0];
  if (!(first instanceof TensorBase)) throw new InputError(`nn.trace: expected a Tensor as input, found ${describe(first)}`);
  const { result, rows } = collect(true, () => traced(model, first, () => model.forward(...inputs)));
  return { output: result, rows };
}
