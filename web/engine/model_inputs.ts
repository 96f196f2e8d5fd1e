// Inputs of a model: rows of ids, masks and head masks.
import type { AnyEngine } from './engine.js';
import { asLoaded } from './loaded.js';
import { describe, InputError, UnsupportedError } from '../core/errors.js';
import { readJson } from '../source/model_files.js';
import { readOptions, type Rules } from '../core/options.js';
import type { TensorBase } from '../core/tensor_base.js';
import type { ForwardOptions, ModelInputs } from './types.js';

// The last four are part of a tokenizer's result. They are allowed and unused.
const kInputRules: Rules = {
  input_ids: 'any',
  attention_mask: 'any',
  token_type_ids: 'any',
  offset_mapping: 'any',
  special_tokens_mask: 'any',
  overflow_to_sample_mapping: 'any',
  truncated: 'any',
  unknown: 'any',
};

/** Options of every forward pass. */
export const kForwardRules: Rules = {
  adapter: 'any',
  output_attentions: 'boolean',
  output_hidden_states: 'boolean',
  output_qkv: 'boolean',
  logit_lens: 'index',
  head_mask: 'any',
  patch: 'any',
  signal: 'signal',
};

interface Table {
  rows: number;
  columns: number;
  data: Int32Array; // [rows, columns]
}

function toTable(name: string, value: unknown): Table {
  const asTensor = value as TensorBase | null | undefined;
  let tensor: { dims: readonly number[]; data: ArrayLike<number | bigint> };
  if (typeof asTensor === 'object' && asTensor !== null && Array.isArray(asTensor.dims)) {
    tensor = asTensor;
  } else if (Array.isArray(value) && value.every((row) => Array.isArray(row))) {
    const columns = value[0]?.length ?? 0;
    const other = value.findIndex((row) => row.length !== columns);
    if (other >= 0) {
      throw new InputError(
        `${name}: expected rows of one length (use padding), found ${columns} and ${value[other].length} at row ${other}`,
      );
    }
    tensor = { dims: [value.length, columns], data: value.flat() };
  } else {
    throw new InputError(`${name}: expected a Tensor [batch, seq] or rows of numbers, found ${describe(value)}`);
  }
  const [rows, columns, ...more] = tensor.dims;
  if (rows === undefined || columns === undefined || more.length > 0) {
    throw new InputError(`${name}: expected dims [batch, seq], found [${tensor.dims}]`);
  }
  const data = Int32Array.from(tensor.data, (id, i) => {
    const number = Number(id);
    if (Number.isInteger(number) && Math.abs(number) < 2 ** 31) return number;
    throw new InputError(
      `${name}: expected whole numbers, found ${describe(id)} at row ${Math.floor(i / columns)}, column ${i % columns}`,
    );
  });
  return { rows, columns, data };
}

/** @internal */
export interface Inputs {
  ids: Table;
  types: Table | undefined;
  /** For each row, the columns that are not masked. */
  kept: Int32Array[];
}

/** @internal */
export function toInputs(inputs: ModelInputs): Inputs {
  if (inputs === null || typeof inputs !== 'object')
    throw new InputError(`model: expected { input_ids, ... }, found ${describe(inputs)}`);
  const { past_key_values, ...given } = inputs as ModelInputs & { past_key_values?: unknown };
  if (past_key_values) {
    throw new UnsupportedError(
      'model: past_key_values: keys and values do not leave WebAssembly: pass all ids of the text, or call generate()',
    );
  }
  const own = readOptions('model', given, kInputRules);
  const ids = toTable('input_ids', own.input_ids);
  const beside = (name: 'attention_mask' | 'token_type_ids'): Table | undefined => {
    const value = own[name];
    if (value === undefined || value === null) return undefined;
    const table = toTable(name, value);
    if (table.rows === ids.rows && table.columns === ids.columns) return table;
    throw new InputError(
      `${name}: expected dims [${ids.rows},${ids.columns}] like input_ids, found [${table.rows},${table.columns}]`,
    );
  };
  const mask = beside('attention_mask');
  const bad = mask?.data.findIndex((value) => value !== 0 && value !== 1) ?? -1;
  if (bad >= 0) throw new InputError(`attention_mask: expected 0 or 1, found ${mask?.data[bad]} at index ${bad}`);
  const kept = Array.from({ length: ids.rows }, (_, row) => {
    const columns = Int32Array.from({ length: ids.columns }, (_, i) => i);
    return mask ? columns.filter((column) => mask.data[row * ids.columns + column] === 1) : columns;
  });
  return { ids, types: beside('token_type_ids'), kept };
}

/** @internal A flat `[layers, heads]` mask from `[layers, heads]` or `[heads]`. */
export function toHeadMask(
  name: string,
  mask: ForwardOptions['head_mask'] | null,
  layers: number,
  heads: number,
): Float32Array | undefined {
  if (mask === undefined || mask === null) return undefined;
  const tensor = mask as Partial<TensorBase>;
  const isList = Array.isArray(mask);
  const flat = isList ? mask.flat() : Array.from((tensor.data ?? []) as ArrayLike<number>, Number);
  const dims = isList ? (Array.isArray(mask[0]) ? [mask.length, mask[0].length] : [mask.length]) : (tensor.dims ?? []);
  const fits = dims.at(-1) === heads && (dims.length === 1 || (dims.length === 2 && dims[0] === layers));
  if (!fits || flat.length !== dims.reduce((a, b) => a * b, 1) || !flat.every(Number.isFinite)) {
    throw new InputError(
      `model: option '${name}': expected finite numbers [${layers}, ${heads}] or [${heads}], found ${describe(mask)} [${dims}]`,
    );
  }
  return Float32Array.from({ length: layers * heads }, (_, i) => flat[i % flat.length]);
}

/** @internal A model around a call: what AutoModel.. returns. */
export function asModel<I, O, R>(engine: AnyEngine, call: (inputs: I, options?: O) => Promise<R>) {
  const familiar = (inputs: I, options?: O): Promise<R> =>
    call(inputs, options).catch(async (error) =>
      call(inputs, (await import('../core/habits.js')).again('model', 'model', options, error) as O),
    );
  return asLoaded(engine, familiar, { config: { ...readJson(engine.files, 'config.json') } });
}
