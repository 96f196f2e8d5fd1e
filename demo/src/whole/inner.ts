// The numbers between the library's taps, computed here from the model's weights by the steps of its plan, and written out as formulas. Each layer begins
// with the model's own vectors, and its end is compared with the model's own.
import { formatCount } from '../ui/format.js';
import { cellOf, type Matrix } from './matrix.js';
import type { Section, Step } from './plan.js';
import type { Weights } from './weights.js';
import type { Rows, Run } from './whole_model.js';

export interface InnerLayer {
  /** The value of this name for all tokens; undefined: it takes a step that is not written out here. */
  rows(name: string): Rows | undefined;
  /** Lines that end with one number of a value. */
  explain(name: string, token: number, column: number): string[];
  /** Lines that end with one number of what the next layer is given. */
  explainEnd(token: number, column: number): string[];
  /** The columns of queries, keys or values in their matrix. value: what the model has. */
  explainHead(kind: 'query' | 'key' | 'value', token: number, column: number, value: number): string[];
}

export interface Inner {
  layers: InnerLayer[];
  embeddings: InnerLayer;
  /** A word's logit from the last vector. */
  explainLogit(vector: Float32Array, id: number): string[];
  isPreNorm: boolean;
  /** The largest difference of a layer's end to the model's own, of the largest number there. */
  gap: number;
}

export const written = (value: number, digits = 4): string => value.toFixed(digits).replace('-', '−');

type Act = (x: number) => number;

const erf = (x: number): number => {
  // Abramowitz and Stegun, Handbook of Mathematical Functions, 7.1.26: within 1.5e-7.
  const t = 1 / (1 + 0.3275911 * Math.abs(x));
  const series = t * (0.254829592 + t * (-0.284496736 + t * (1.421413741 + t * (-1.453152027 + t * 1.061405429))));
  return Math.sign(x) * (1 - series * Math.exp(-x * x));
};
const sigmoid: Act = (x) => 1 / (1 + Math.exp(-x));

const kActs: Record<string, Act> = {
  gelu: (x) => 0.5 * x * (1 + erf(x / Math.SQRT2)),
  gelu_tanh: (x) => 0.5 * x * (1 + Math.tanh(Math.sqrt(2 / Math.PI) * (x + 0.044715 * x ** 3))),
  quick_gelu: (x) => x * sigmoid(1.702 * x),
  relu: (x) => Math.max(0, x),
  silu: (x) => x * sigmoid(x),
  tanh: Math.tanh,
  sigmoid,
};

const kNames: Record<string, string> = {
  x: 'x',
  'attention.context': 'sums',
  'attention.output': 'after attention',
  intermediate: 'inner',
  'final_norm.output': 'x',
};
const kWeightNames: Record<string, string> = {
  attention_output: 'the heads together',
  up: 'up',
  down: 'down',
  query_key_value: 'q, k, v',
};

const kTerms = 3; // of a long sum that are written out

function productLine(name: string, matrix: Matrix, row: number, vector: Float32Array, value: number, last = ''): string {
  const terms = Array.from({ length: Math.min(kTerms, vector.length) }, (_, k) => `${written(cellOf(matrix, row, k))} × ${written(vector[k] as number)}`); // prettier-ignore
  const rest = vector.length > kTerms ? ` + … (${formatCount(vector.length)} products)` : '';
  const bias = matrix.bias ? ` + bias ${written(matrix.bias[row] as number)}` : '';
  return `${name} = ${terms.join(' + ')}${rest}${bias}${last} = ${written(value)}`;
}

function dot(matrix: Matrix, row: number, vector: Float32Array): number {
  const { data, width, bias } = matrix;
  let sum = bias?.[row] ?? 0;
  for (let k = 0, at = row * width; k < width; ++k, ++at) sum += (data[at] as number) * (vector[k] as number);
  return sum;
}

interface Norms {
  /** Keeps the divisor above zero. */
  epsilon: number;
  /** What is added to each stored factor. */
  offset: number;
}

/** What a norm makes of a row: its numbers, and what they are made of. */
function normed(row: Float32Array, matrix: Matrix, isRms: boolean, { epsilon, offset }: Norms) {
  const mean = isRms ? 0 : row.reduce((sum, x) => sum + x, 0) / row.length;
  const variance = row.reduce((sum, x) => sum + (x - mean) ** 2, 0) / row.length;
  const root = Math.sqrt(variance + epsilon);
  const out = row.map((x, k) => ((x - mean) / root) * (cellOf(matrix, 0, k) + offset) + (matrix.bias?.[k] ?? 0));
  return { out, mean, variance };
}

const factorOf = ({ constants }: Step) => Number(/^(?:times )?(-?[\d.]+)$/.exec(constants[0] ?? '')?.[1] ?? 1);
const actOf = ({ constants }: Step) => constants.find((one) => Object.hasOwn(kActs, one));

/** What happens to queries and keys before they are compared, in words. */
const kAfter: Record<string, string> = {
  rotate: 'pairs of numbers are rotated by an angle that depends on the token’s position (rotary positions)',
  head_norm: 'the numbers of the head are normalised',
};
const kParts: Record<string, string> = { query_norm: 'query', key_norm: 'key' };

class Values implements InnerLayer {
  private readonly known = new Map<string, Rows | undefined>();

  constructor(
    private readonly section: Section,
    private readonly weights: ReadonlyMap<string, Matrix>,
    private readonly norms: Norms,
    /** Values that the model shows. */
    private readonly given: Readonly<Record<string, Rows>>,
    private readonly ids: readonly number[],
    /** What a last norm makes of a last layer's output. */
    readonly end?: Values,
  ) {}

  rows(name: string): Rows | undefined {
    if (!this.known.has(name)) this.known.set(name, this.given[name] ?? this.compute(this.stepOf(name)));
    return this.known.get(name);
  }

  private stepOf = (name: string) => this.section.steps.find(({ out }) => out === name);
  private matrixOf = ({ weight }: Step) => this.weights.get(weight?.name ?? '');

  /** The row of a table that a step adds for a token. */
  private idOf({ op, constants: [of = ''] }: Step, token: number): number {
    if (op === 'words') return this.ids[token] as number;
    if (of.includes('token types')) return 0;
    return token + (of.includes('after padding') ? Number(/\d+$/.exec(of)?.[0] ?? 0) + 1 : 0);
  }

  private compute(step: Step | undefined): Rows | undefined {
    if (!step) return undefined;
    const [a, b] = step.inputs.map((name) => this.rows(name));
    const matrix = this.matrixOf(step);
    const { op } = step;
    const act = kActs[actOf(step) ?? ''];
    const unary = (make: (row: Float32Array, token: number) => Float32Array) => a?.map(make);
    const tableRow = (token: number) => {
      const { width, data } = matrix as Matrix;
      const id = this.idOf(step, token);
      return data.slice(id * width, (id + 1) * width);
    };
    if (op === 'words') return matrix && this.ids.map((_, token) => tableRow(token));
    if (op === 'add_rows') return matrix && unary((row, token) => tableRow(token).map((x, k) => x + (row[k] as number)));
    if (op === 'scale') return unary((row) => row.map((x) => x * factorOf(step)));
    if (op === 'add') return b && unary((row, i) => row.map((x, k) => x * factorOf(step) + (b[i]?.[k] as number)));
    if (op === 'activate') return act && unary((row) => row.map(act));
    if (op === 'gate') {
      const half = (a?.[0]?.length ?? 0) / 2;
      return act && unary((row) => row.slice(0, half).map((x, k) => act(x) * (row[half + k] as number)));
    }
    if (op === 'norm') {
      if (!matrix || (step.inputs.length > 1 && !b)) return undefined;
      return unary((row, i) => normed(this.sum(row, b?.[i]), matrix, step.constants.includes('rms'), this.norms).out);
    }
    if (op !== 'linear' || !matrix || (step.constants.length > 0 && !act)) return undefined;
    return unary((row) => Float32Array.from({ length: matrix.rows }, (_, i) => (act ?? ((x: number) => x))(dot(matrix, i, row))));
  }

  private sum = (row: Float32Array, other: Float32Array | undefined) => (other ? row.map((x, k) => x + (other[k] as number)) : row);

  private nameOf(value: string): string {
    const step = this.stepOf(value);
    return kNames[value] ?? kWeightNames[step?.weight?.name ?? ''] ?? (step?.op === 'norm' ? 'normed' : 'sum');
  }

  explain(name: string, token: number, column: number): string[] {
    const step = this.stepOf(name);
    const value = this.rows(name)?.[token]?.[column];
    if (!step || value === undefined) return [];
    const [first = '', second] = step.inputs;
    const [a, b] = step.inputs.map((one) => this.rows(one)?.[token]);
    const matrix = this.matrixOf(step);
    // What has no name of its own is written out first; a product reads whole rows, so only its own line is written.
    const before = (own: string | undefined, at = column) =>
      own !== undefined && /^v\d+$/.test(own) ? this.explain(own, token, at) : [];
    const at = (row: Float32Array | undefined, k = column) => written(row?.[k] as number);
    switch (step.op) {
      case 'words':
        return [`row ${this.ids[token]} of the word embeddings, number ${column + 1} = ${written(value)}`];
      case 'add_rows': {
        const id = this.idOf(step, token);
        const of = step.constants[0]?.includes('types') ? 'token type' : 'position';
        return [...before(first), `+ ${of} ${id}: ${written(matrix ? cellOf(matrix, id, column) : NaN)} = ${written(value)}`];
      }
      case 'scale':
        return [...before(first), `× ${factorOf(step)} = ${written(value)}`];
      case 'add':
        return [
          ...before(first),
          ...before(second),
          `${this.nameOf(first)} ${at(a)}${factorOf(step) === 1 ? '' : ` × ${factorOf(step)}`} + ${this.nameOf(second as string)} ${at(b)} = ${written(value)}`,
        ];
      case 'norm': {
        if (!a || !matrix) return [];
        const row = this.sum(a, b);
        const isRms = step.constants.includes('rms');
        const { mean, variance } = normed(row, matrix, isRms, this.norms);
        const added = second === undefined ? [] : [`${this.nameOf(first)} ${at(a)} + ${this.nameOf(second)} ${at(b)} = ${at(row)}`];
        const over = isRms ? `${at(row)} / √(mean of squares ${written(variance)} + ε)` : `(${at(row)} − mean ${written(mean)}) / √(variance ${written(variance)} + ε)`; // prettier-ignore
        const bias = matrix.bias ? ` + β ${written(matrix.bias[column] as number)}` : '';
        return [
          ...before(first),
          ...added,
          `norm: ${over} × γ ${written(cellOf(matrix, 0, column) + this.norms.offset)}${bias} = ${written(value)}`,
        ];
      }
      case 'gate': {
        const half = (a?.length ?? 0) / 2;
        const act = actOf(step) as string;
        const gate = a?.[column] as number;
        return [
          ...before(first),
          ...before(first, half + column),
          `${act}(${written(gate)}) × ${at(a, half + column)} = ${written((kActs[act] as Act)(gate))} × ${at(a, half + column)} = ${written(value)}`,
        ];
      }
      case 'activate':
        return [...before(first), `${actOf(step)}(${at(a)}) = ${written(value)}`];
      case 'linear': {
        if (!a || !matrix) return [];
        const act = actOf(step);
        const product = dot(matrix, column, a);
        const line = productLine(kWeightNames[step.weight?.name ?? ''] ?? 'product', matrix, column, a, product);
        return act ? [line, `${act}(${written(product)}) = ${written(value)}`] : [line];
      }
      default:
        return [];
    }
  }

  explainEnd(token: number, column: number): string[] {
    const lines = this.explain('output', token, column);
    return lines.length === 0 || !this.end ? lines : [...lines, ...this.end.explain(kEnd, token, column)];
  }

  explainHead(kind: 'query' | 'key' | 'value', token: number, column: number, value: number): string[] {
    const view = this.section.columns.find(({ name }) => name === `attention.${kind}`);
    if (!view) return [];
    const own = this.stepOf(view.of);
    if (!own) return [];
    const after: string[] = [];
    let step: Step | undefined = own;
    while (step && Object.hasOwn(kAfter, step.op)) {
      const of = kParts[step.weight?.name ?? ''];
      if (of === undefined || of === kind) after.unshift(kAfter[step.op] as string);
      step = this.stepOf(step.inputs[0] as string);
    }
    const lines = step ? this.explain(step.out, token, view.from + column) : [];
    if (lines.length === 0 || kind === 'value' || after.length === 0) return lines;
    return [...lines, `then ${after.join(', and ')} = ${written(value)}`];
  }
}

const kEnd = 'final_norm.output';
const kMostGap = 0.05; // beyond, what is computed here is not what the model does

/**
 * undefined: this model's layers do something that is not written out here, or what comes out is not what the model has. The page answers between layers.
 * isStale: whether nobody waits any more.
 */
export async function innerOf(weights: Weights, run: Run, isStale = () => false): Promise<Inner | undefined> {
  // Some models store the factors of their norms less 1.
  return (await innerWith(weights, run, 0, isStale)) ?? innerWith(weights, run, 1, isStale);
}

function contextsOf(run: Run, layer: number): Rows {
  return run.tokens.map((_, token) => {
    const heads = (run.contexts[layer] ?? []).map((rows) => rows[token] as Float32Array);
    const row = new Float32Array(heads.reduce((sum, { length }) => sum + length, 0));
    heads.reduce((at, own) => (row.set(own, at), at + own.length), 0);
    return row;
  });
}

/** The largest difference, of the largest number. */
function gapOf(ours: Rows | undefined, theirs: Rows): number {
  const most = Math.max(...theirs.map((row) => row.reduce((a, b) => Math.max(a, Math.abs(b)), 1e-9)));
  const off = (row: Float32Array, i: number) => row.reduce((a, b, k) => Math.max(a, Math.abs(b - (ours?.[i]?.[k] ?? NaN))), 0);
  return Math.max(...theirs.map(off)) / most;
}

async function innerWith(
  { plan, epsilon, embeddings, layers, end, head }: Weights,
  run: Run,
  offset: number,
  isStale: () => boolean,
): Promise<Inner | undefined> {
  const norms = { epsilon, offset };
  let gap = 0;
  const all: Values[] = [];
  for (const [i, weights] of layers.entries()) {
    await new Promise((resolve) => setTimeout(resolve));
    if (isStale()) return undefined;
    const given = { x: run.states[i] as Rows, 'attention.context': contextsOf(run, i) };
    const section = plan.layers[i] as Section;
    let layer = new Values(section, weights, norms, given, run.ids);
    const output = layer.rows('output');
    if (!output || !layer.rows('attention.output') || !layer.rows('intermediate')) return undefined;
    const isLast = i === layers.length - 1 && plan.end.steps.length > 0;
    const last = isLast ? new Values(plan.end, end, norms, { x: output }, run.ids) : undefined;
    if (last) layer = new Values(section, weights, norms, given, run.ids, last);
    gap = Math.max(gap, gapOf(last ? last.rows(kEnd) : output, run.states[i + 1] as Rows));
    if (!(gap < kMostGap)) return undefined;
    all.push(layer);
  }
  return {
    layers: all,
    embeddings: new Values(plan.embeddings, embeddings, norms, {}, run.ids),
    explainLogit(vector, id) {
      if (!head) return [];
      const logit = dot(head, id, vector);
      const lines = [productLine('logit', head, id, vector, logit)];
      const cap = Number(plan.head.steps.find(({ op }) => op === 'softcap')?.constants[0]);
      return cap > 0 ? [...lines, `${cap} × tanh(${written(logit)} / ${cap}) = ${written(cap * Math.tanh(logit / cap))}`] : lines;
    },
    isPreNorm: plan.layers[0]?.steps[0]?.op === 'norm',
    gap,
  };
}
