// What goes into a bare model, encoder or decoder: rows of ids, masks, scales of heads.
import type { AnyEngine } from './engine.js';
import { describe, InputError, ModelFormatError } from '../core/errors.js';
import { checkOptions, type Rules } from '../core/options.js';
import type { Tensor } from '../core/tensor.js';
import type { ForwardOptions, ModelInputs } from './types.js';

// What a tokenizer's answer has beside the inputs: of no use here, and no mistake either.
const kInputRules: Rules = {
  input_ids: 'any',
  attention_mask: 'any',
  token_type_ids: 'any',
  offset_mapping: 'any',
  special_tokens_mask: 'any',
  overflow_to_sample_mapping: 'any',
  truncated: 'any',
};

interface Table {
  rows: number;
  columns: number;
  data: Int32Array; // [rows, columns]
}

function toTable(name: string, value: unknown): Table {
  const asTensor = value as Tensor | null | undefined;
  let tensor: { dims: readonly number[]; data: ArrayLike<number | bigint> };
  if (typeof asTensor === 'object' && asTensor !== null && Array.isArray(asTensor.dims)) {
    tensor = asTensor;
  } else if (Array.isArray(value) && value.every((row) => Array.isArray(row))) {
    const columns = value[0]?.length ?? 0;
    const other = value.findIndex((row) => row.length !== columns);
    if (other >= 0) {
      throw new InputError(
        `${name}: expected rows of one length (padding), found ${columns} and ${value[other].length} at row ${other}`,
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
  /** For each row the columns that run. */
  kept: Int32Array[];
}

/** @internal */
export function toInputs(inputs: ModelInputs): Inputs {
  if (inputs === null || typeof inputs !== 'object')
    throw new InputError(`model: expected { input_ids, ... }, found ${describe(inputs)}`);
  checkOptions('model', inputs, kInputRules);
  const ids = toTable('input_ids', inputs.input_ids);
  const beside = (name: 'attention_mask' | 'token_type_ids'): Table | undefined => {
    const value = inputs[name];
    if (value === undefined || value === null) return undefined;
    const table = toTable(name, value);
    if (table.rows === ids.rows && table.columns === ids.columns) return table;
    throw new InputError(
      `${name}: expected dims [${ids.rows},${ids.columns}] as input_ids has, found [${table.rows},${table.columns}]`,
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

/** @internal Of `[layers, heads]` or `[heads]`: the former, flat. */
export function toHeadMask(
  name: string,
  mask: ForwardOptions['head_mask'] | null,
  layers: number,
  heads: number,
): Float32Array | undefined {
  if (mask === undefined || mask === null) return undefined;
  const tensor = mask as Partial<Tensor>;
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

/** @internal */
export function readConfig(engine: AnyEngine): Record<string, unknown> {
  const bytes = engine.files.find(([name]) => name === 'config.json')?.[1];
  try {
    return JSON.parse(new TextDecoder().decode(bytes)) as Record<string, unknown>;
  } catch (cause) {
    throw new ModelFormatError(`config.json: ${(cause as Error).message}`, { cause });
  }
}
