// A model's weights in float32, whatever its files hold: what a Trainer saves that has learned nothing. Which tensor is which follows from
// their order, which is that of the plan's steps, and from their shapes.
import { inspectModel, nn, type ModelSpecifier } from 'wattn';
import { Trainer } from 'wattn/train';
import type { Matrix } from './matrix.js';
import { planOf, type Plan, type Section, type Step } from './plan.js';
import type { Whole, WholeKind } from './whole_model.js';

export interface Weights {
  plan: Plan;
  /** What keeps the divisor of norms above zero. */
  epsilon: number;
  embeddings: Map<string, Matrix>;
  layers: Map<string, Matrix>[];
  end: Map<string, Matrix>;
  /** Rows of the vocabulary, for a decoder's logits. */
  head?: Matrix;
}

interface Named {
  name: string;
  dims: readonly number[];
  data: Float32Array;
}

const kRows = {
  decoder: [{ text: 'one two three' }],
  others: ['a', 'b'].flatMap((label) => [1, 2].map((i) => ({ text: `${label} ${i}`, label }))),
};

async function tensorsOf(source: ModelSpecifier | null, kind: WholeKind): Promise<Named[]> {
  const isDecoder = kind === 'decoder';
  const trainer = await Trainer.from_pretrained(source, {
    ...(isDecoder ? { task: 'text-generation' as const } : { task: 'text-classification' as const, loss: 'SupConLoss' as const }),
    method: 'full',
    learning_rate: 0,
    max_steps: 1,
    worker: true,
  });
  try {
    await trainer.fit(isDecoder ? kRows.decoder : kRows.others);
    const { 'model.safetensors': bytes } = await trainer.save();
    if (!bytes) return [];
    return Object.entries(nn.load_safetensors(bytes)).map(([name, { dims, data }]) => ({ name, dims, data: data as Float32Array }));
  } finally {
    void trainer.dispose();
  }
}

/** Takes tensors in their order; what is taken is gone. */
class Taker {
  private readonly left: Named[];
  private isTransposed: boolean | undefined;

  constructor(tensors: readonly Named[]) {
    this.left = [...tensors];
  }

  private take(fits: (one: Named) => boolean): Named | undefined {
    const at = this.left.findIndex(fits);
    return at < 0 ? undefined : this.left.splice(at, 1)[0];
  }

  private biasOf({ name }: Named): Float32Array | undefined {
    const bias = name.replace(/weight$/, 'bias');
    return bias === name ? undefined : this.take((one) => one.name === bias)?.data;
  }

  norm(width: number): Matrix | undefined {
    const found = this.take(({ name, dims }) => dims.length === 1 && dims[0] === width && name.endsWith('weight'));
    if (!found) return undefined;
    const bias = this.biasOf(found);
    return { rows: 1, width, data: found.data, ...(bias && { bias }) };
  }

  /** A table of at least so many rows, for ids of this kind. */
  table(width: number, rows: number, like: RegExp): Matrix | undefined {
    const fits = ({ dims }: Named) => dims.length === 2 && dims[1] === width && (dims[0] as number) >= rows;
    const found = this.take((one) => fits(one) && like.test(one.name)) ?? this.take(fits);
    if (!found) return undefined;
    return { rows: found.dims[0] as number, width, data: found.data };
  }

  /** One tensor of just this shape. */
  whole(rows: number, width: number): Matrix | undefined {
    const found = this.take(({ dims }) => dims.length === 2 && dims[0] === rows && dims[1] === width);
    if (!found) return undefined;
    const bias = this.biasOf(found);
    return { rows, width, data: found.data, ...(bias && { bias }) };
  }

  /** Several tensors may make one matrix, such as queries, keys and values. */
  matrix(rows: number, width: number): Matrix | undefined {
    const data = new Float32Array(rows * width);
    const bias = new Float32Array(rows);
    let hasBias = false;
    for (let first = 0; first < rows;) {
      const rest = rows - first;
      const isPlain = ({ dims: [out = 0, into] }: Named) => into === width && out <= rest;
      const isTurned = ({ dims: [into, out = 0] }: Named) => into === width && out <= rest;
      const found = this.take((one) => one.dims.length === 2 && (isPlain(one) || isTurned(one)));
      if (!found) return undefined;
      const turned = isPlain(found) && isTurned(found) ? (this.isTransposed ?? false) : isTurned(found);
      this.isTransposed = turned;
      const size = found.dims[turned ? 1 : 0] as number;
      if (turned) found.data.forEach((value, i) => (data[(first + (i % size)) * width + Math.floor(i / size)] = value));
      else data.set(found.data, first * width);
      const own = this.biasOf(found);
      if (own) bias.set(own, first);
      hasBias ||= own !== undefined;
      first += size;
    }
    return { rows, width, data, ...(hasBias && { bias }) };
  }
}

const kTables: Record<string, RegExp> = { words: /word|tok|wte|shared/, 'of token types': /type/ };

function takeOne(taker: Taker, { op, weight, constants }: Step): Matrix | undefined {
  const { rows, width } = weight as NonNullable<Step['weight']>;
  if (op === 'words' || op === 'add_rows')
    return taker.table(width, rows, kTables[op === 'words' ? op : (constants[0] ?? '')] ?? /pos|wpe/);
  return op === 'norm' || op === 'head_norm' ? taker.norm(width) : taker.matrix(rows, width);
}

/** undefined: a weight was not found. */
function takeAll(taker: Taker, { steps }: Section): Map<string, Matrix> | undefined {
  const out = new Map<string, Matrix>();
  for (const step of steps) {
    if (!step.weight) continue;
    const found = takeOne(taker, step);
    if (!found) return undefined;
    out.set(step.weight.name, found);
  }
  return out;
}

/** undefined: this model has steps that are not written out here. */
export async function readWeights(source: ModelSpecifier | null, { kind, epsilon }: Whole): Promise<Weights | undefined> {
  const { plan: text = '' } = await inspectModel(source, { plan: true });
  const plan = planOf(text);
  const tensors = await tensorsOf(source, kind);
  const taker = new Taker(tensors);
  const embeddings = takeAll(taker, plan.embeddings);
  const words = plan.embeddings.steps.find(({ op }) => op === 'words')?.weight;
  const own = plan.head.steps.find(({ op }) => op === 'linear')?.weight;
  const head = own && (taker.whole(own.rows, own.width) ?? (words && embeddings?.get(words.name)));
  const layers = plan.layers.map((section) => takeAll(taker, section));
  const end = takeAll(taker, plan.end);
  if (!embeddings || !end || layers.some((layer) => !layer)) return undefined;
  return { plan, epsilon, embeddings, layers: layers as Map<string, Matrix>[], end, ...(head && { head }) };
}
