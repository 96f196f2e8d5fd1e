// The kinds of PEFT's adapters, as what each adds to a weight: https://huggingface.co/docs/peft, and its formula at each.
import { ModelFormatError, UnsupportedError } from '../core/errors.js';
import { kAdapterConfig, numberFor, type Json } from './peft_config.js';
import {
  floatsOf,
  kParts,
  scaled,
  shapeOf,
  transposed,
  vectorOf,
  whereOf,
  type AdapterTensor,
  type Tensors,
} from './peft_tensor.js';
import type { StoredTensor } from './safetensors.js';

/** Its product B A is added to a weight. */
interface Pair {
  rows: number;
  columns: number;
  rank: number;
  a: Float32Array; // [rank, columns]
  b: Float32Array; // [rows, rank]
}

interface Matrix {
  rows: number;
  columns: number;
  values: Float32Array; // [rows, columns]
}

type Kind = (config: Json, module: string, parts: Tensors) => AdapterTensor;

const changeOf = (module: string, { rows, columns, rank, a, b }: Pair, scale: number): AdapterTensor => ({
  name: `${module}.weight`,
  rows,
  columns,
  rank,
  parts: 0,
  values: [a, scaled(b, scale)],
});

function matrixOf(tensor: StoredTensor): Matrix {
  const [rows = 0, columns = 0] = tensor.shape;
  if (tensor.shape.length === 2 && rows > 0 && columns > 0) return { rows, columns, values: floatsOf(tensor) };
  throw new UnsupportedError(`${whereOf(tensor)}: expected a matrix of a linear layer, found ${shapeOf(tensor)}`);
}

/** The tensors of these names, all or none. An error if one has another name. */
function checkNames(parts: Tensors, known: readonly string[]): void {
  const odd = [...parts].find(([name]) => !known.includes(name));
  if (odd) throw new UnsupportedError(`${whereOf(odd[1])}: expected one of ${known.join(', ')} of a linear layer, found ${odd[0]}`);
}

/** lora_A and lora_B of a linear layer. Those of a table add A^T B^T. */
function pairOf(parts: Tensors, nameA: string, nameB: string, isTable: boolean): Pair {
  const [a, b] = [parts.get(nameA), parts.get(nameB)];
  const [any] = parts.values();
  const [rank = 0, inner = 0] = a?.shape ?? [];
  const [outer = 0, rankOfB] = b?.shape ?? [];
  if (!a || !b || a.shape.length !== 2 || b.shape.length !== 2 || rank !== rankOfB) {
    const expected = isTable ? 'lora_embedding_A [r, rows] and lora_embedding_B [width, r]' : 'lora_A [r, in] and lora_B [out, r]';
    const found = `${a ? shapeOf(a) : 'no lora_A'} and ${b ? shapeOf(b) : 'no lora_B'}`;
    throw new ModelFormatError(`${whereOf(any as StoredTensor)}: expected ${expected}, found ${found}`);
  }
  if (!isTable) return { rows: outer, columns: inner, rank, a: floatsOf(a), b: floatsOf(b) };
  return { rows: inner, columns: outer, rank, a: transposed(floatsOf(b), outer, rank), b: transposed(floatsOf(a), rank, inner) };
}

/** A tensor that is there if a field says so, and only then. */
function checkField(config: Json, field: string, tensor: StoredTensor | undefined, name: string, any: StoredTensor): void {
  const says = config[field] === true;
  if (says === (tensor !== undefined)) return;
  const [expected, found] = says ? [name, 'none'] : [`no ${name}`, `'${tensor?.name}'`];
  throw new ModelFormatError(`${whereOf(any)}: expected ${expected}, as ${kAdapterConfig} says ${field}: ${says}, found ${found}`);
}

/** W + s B A; with use_dora, each row times magnitude / its norm (of a table: each column); with lora_bias, the bias + s b. */
const lora: Kind = (config, module, parts) => {
  const isTable = parts.has('lora_embedding_A');
  const [nameA, nameB] = isTable ? ['lora_embedding_A', 'lora_embedding_B'] : ['lora_A.weight', 'lora_B.weight'];
  const magnitudes = ['lora_magnitude_vector', 'lora_magnitude_vector.weight'];
  checkNames(parts, [nameA, nameB, ...magnitudes, ...(isTable ? [] : ['lora_B.bias'])]);
  const pair = pairOf(parts, nameA, nameB, isTable);
  const a = parts.get(nameA) as StoredTensor;
  const r = numberFor(config, module, 'r', 'rank_pattern');
  if (r !== pair.rank) throw new ModelFormatError(`${whereOf(a)}: expected rank ${r} as in ${kAdapterConfig}, found ${pair.rank}`);
  const scale = numberFor(config, module, 'lora_alpha', 'alpha_pattern') / (config['use_rslora'] === true ? Math.sqrt(r) : r);
  const out = changeOf(module, pair, scale);
  if (isTable) out.parts |= kParts.table;
  const magnitude = magnitudes.map((name) => parts.get(name)).find((tensor) => tensor !== undefined);
  checkField(config, 'use_dora', magnitude, 'lora_magnitude_vector', a);
  if (magnitude) {
    out.parts |= kParts.magnitude;
    out.values.push(vectorOf(magnitude, isTable ? pair.columns : pair.rows));
  }
  const bias = parts.get('lora_B.bias');
  if (!isTable) checkField(config, 'lora_bias', bias, 'lora_B.bias', a);
  if (bias) {
    out.parts |= kParts.more;
    out.values.push(scaled(vectorOf(bias, pair.rows), scale));
  }
  return out;
};

/** W + alpha / init_r B (E A): arXiv 2303.10512. */
const adalora: Kind = (config, module, parts) => {
  checkNames(parts, ['lora_A', 'lora_B', 'lora_E', 'ranknum']);
  const pair = pairOf(parts, 'lora_A', 'lora_B', false);
  const e = parts.get('lora_E');
  if (!e) throw new ModelFormatError(`${whereOf(parts.get('lora_A') as StoredTensor)}: expected lora_E beside it, found none`);
  const factors = vectorOf(e, pair.rank);
  const initial = numberFor({ ...config, r: config['init_r'] ?? 12, none: {} }, module, 'r', 'none');
  const ranknum = parts.has('ranknum') ? (vectorOf(parts.get('ranknum') as StoredTensor, 1)[0] as number) : initial;
  const alpha = numberFor(config, module, 'lora_alpha', 'none');
  pair.a = pair.a.map((value, i) => value * (factors[Math.floor(i / pair.columns)] as number));
  return changeOf(module, pair, (alpha > 0 ? alpha : initial) / (ranknum + 1e-5));
};

/** What a layer gives times l [out, 1], or what it reads times l [1, in]: arXiv 2205.05638. */
const ia3: Kind = (_config, module, parts) => {
  checkNames(parts, ['ia3_l']);
  const { rows, columns, values } = matrixOf(parts.get('ia3_l') as StoredTensor);
  const name = `${module}.weight`;
  if (columns === 1) return { name, rows, columns: 0, rank: 1, parts: kParts.factor, values: [values] };
  if (rows === 1) return { name, rows: 1, columns, rank: 0, parts: kParts.inputs, values: [values] };
  throw new ModelFormatError(
    `${whereOf(parts.get('ia3_l') as StoredTensor)}: expected [out, 1] or [1, in], found [${rows}, ${columns}]`,
  );
};

/** Two matrices whose product is stored, or whose product is stored as one: then one of them is the identity. */
function factorsOf(parts: Tensors, name: string): [left: Matrix, right: Matrix] {
  const get = (part: string) => parts.get(`${name}${part}`);
  const [whole, a, b] = [get(''), get('_a'), get('_b')];
  const [any] = parts.values();
  if (a && b) {
    const [left, right] = [matrixOf(a), matrixOf(b)];
    if (left.columns === right.rows) return [left, right];
    throw new ModelFormatError(
      `${whereOf(a)}: expected as many columns as '${b.name}' has rows, found ${shapeOf(a)} and ${shapeOf(b)}`,
    );
  }
  if (!whole)
    throw new ModelFormatError(`${whereOf(any as StoredTensor)}: expected ${name}, or ${name}_a and ${name}_b, found neither`);
  const matrix = matrixOf(whole);
  const size = Math.min(matrix.rows, matrix.columns);
  const one: Matrix = { rows: size, columns: size, values: new Float32Array(size * size) };
  for (let i = 0; i < size; ++i) one.values[i * size + i] = 1;
  return matrix.rows <= matrix.columns ? [one, matrix] : [matrix, one];
}

/** Each row (and column) of x with each of y, in one of two ways. */
function product(x: Matrix, y: Matrix, rows: boolean, columns: boolean): Matrix {
  const [tall, wide] = [rows ? x.rows * y.rows : x.rows, columns ? x.columns * y.columns : x.columns];
  const values = new Float32Array(tall * wide);
  for (let i = 0; i < tall; ++i) {
    const [ix, iy] = rows ? [Math.floor(i / y.rows), i % y.rows] : [i, i];
    for (let j = 0; j < wide; ++j) {
      const [jx, jy] = columns ? [Math.floor(j / y.columns), j % y.columns] : [j, j];
      values[i * wide + j] = (x.values[ix * x.columns + jx] as number) * (y.values[iy * y.columns + jy] as number);
    }
  }
  return { rows: tall, columns: wide, values };
}

function lycoris(config: Json, module: string, left: Matrix, right: Matrix): AdapterTensor {
  const scale = numberFor(config, module, 'alpha', 'alpha_pattern') / numberFor(config, module, 'r', 'rank_pattern');
  const pair = { rows: left.rows, columns: right.columns, rank: left.columns, a: right.values, b: left.values };
  return changeOf(module, pair, scale);
}

/** W + s (w1_a w1_b) * (w2_a w2_b), element by element: a product whose rank is that of both multiplied (arXiv 2108.06098). */
const loha: Kind = (config, module, parts) => {
  checkNames(parts, ['hada_w1_a', 'hada_w1_b', 'hada_w2_a', 'hada_w2_b']);
  const [[a1, b1], [a2, b2]] = [factorsOf(parts, 'hada_w1'), factorsOf(parts, 'hada_w2')];
  if (a1.rows === a2.rows && b1.columns === b2.columns)
    return lycoris(config, module, product(a1, a2, false, true), product(b1, b2, true, false));
  const found = `[${a1.rows}, ${b1.columns}] and [${a2.rows}, ${b2.columns}]`;
  throw new ModelFormatError(`${whereOf(parts.get('hada_w1_a') as StoredTensor)}: expected products of one shape, found ${found}`);
};

/** W + s w1 (x) w2, Kronecker's product. It maps products to products (arXiv 2309.14859). */
const lokr: Kind = (config, module, parts) => {
  checkNames(parts, ['lokr_w1', 'lokr_w1_a', 'lokr_w1_b', 'lokr_w2', 'lokr_w2_a', 'lokr_w2_b']);
  const [[a1, b1], [a2, b2]] = [factorsOf(parts, 'lokr_w1'), factorsOf(parts, 'lokr_w2')];
  return lycoris(config, module, product(a1, a2, true, true), product(b1, b2, true, true));
};

export const kKinds: Record<string, Kind | undefined> = { LORA: lora, ADALORA: adalora, IA3: ia3, LOHA: loha, LOKR: lokr };
