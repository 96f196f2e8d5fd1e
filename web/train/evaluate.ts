// The usual measures of a validation set, from sentence vectors.
import { InputError } from '../core/errors.js';
import type { Embeddings } from '../vectors/types.js';
import type { Examples } from './rows.js';
import type { Evaluation } from './types.js';

interface Judged {
  /** Higher is better. */
  score: number;
  measures: Omit<Evaluation, 'best'>;
}

type Embed = (texts: readonly string[]) => Promise<Embeddings>;

async function unitRows(embed: Embed, texts: readonly string[]): Promise<Float64Array[]> {
  const { data, dims } = await embed(texts);
  const dim = dims[1] as number;
  return texts.map((_, i) => {
    const row = Float64Array.from(data.subarray(i * dim, (i + 1) * dim) as Float32Array);
    const length = Math.sqrt(row.reduce((sum, x) => sum + x * x, 0)) || 1;
    return row.map((x) => x / length);
  });
}

const dot = (a: Float64Array, b: Float64Array) => a.reduce((sum, x, i) => sum + x * (b[i] as number), 0);

function nearest(to: Float64Array, among: readonly Float64Array[]): number {
  const scores = among.map((each) => dot(to, each));
  return scores.indexOf(Math.max(...scores));
}

/** Ranks from 1; equal values share the mean of theirs. */
function ranks(values: readonly number[]): number[] {
  const order = values.map((_, i) => i).sort((a, b) => (values[a] as number) - (values[b] as number));
  const out = new Array<number>(values.length);
  for (let begin = 0; begin < order.length;) {
    let end = begin + 1;
    while (end < order.length && values[order[end] as number] === values[order[begin] as number]) ++end;
    for (let i = begin; i < end; ++i) out[order[i] as number] = (begin + 1 + end) / 2;
    begin = end;
  }
  return out;
}

/** Spearman's rank correlation. */
export function spearman(a: readonly number[], b: readonly number[]): number {
  const [x, y] = [ranks(a), ranks(b)];
  const mean = (a.length + 1) / 2;
  let xy = 0;
  let xx = 0;
  let yy = 0;
  x.forEach((rank, i) => {
    const other = y[i] as number;
    xy += (rank - mean) * (other - mean);
    xx += (rank - mean) ** 2;
    yy += (other - mean) ** 2;
  });
  return xx > 0 && yy > 0 ? xy / Math.sqrt(xx * yy) : 0;
}

/** Each label's mean vector over the training set judges the others. */
async function byCentroids(embed: Embed, examples: Examples, held: Examples): Promise<Judged> {
  const names = [...new Set(examples.labels)].sort();
  const unknown = held.labels.findIndex((label) => !names.includes(label));
  if (unknown >= 0)
    throw new InputError(`trainer.fit: validation: row ${unknown}: no training row has the label '${held.labels[unknown]}'`);
  const rows = await unitRows(embed, examples.columns[0] as string[]);
  const centroids = names.map((name) => {
    const own = rows.filter((_, i) => examples.labels[i] === name);
    const sum = new Float64Array((own[0] as Float64Array).length);
    for (const row of own) row.forEach((x, k) => ((sum[k] as number) += x));
    const length = Math.sqrt(dot(sum, sum)) || 1;
    return sum.map((x) => x / length);
  });
  const found = (await unitRows(embed, held.columns[0] as string[])).map((row) => names[nearest(row, centroids)]);
  const right = found.filter((name, i) => name === held.labels[i]).length;
  const f1 = names.map((name) => {
    const hits = found.filter((label, i) => label === name && held.labels[i] === name).length;
    const all = found.filter((label) => label === name).length + held.labels.filter((label) => label === name).length;
    return all > 0 ? (2 * hits) / all : 0;
  });
  const accuracy = right / held.size;
  return { score: accuracy, measures: { accuracy, macro_f1: f1.reduce((sum, x) => sum + x, 0) / names.length } };
}

export async function evaluate(embed: Embed, examples: Examples, held: Examples): Promise<Judged> {
  if (held.kind === 'labelled') return byCentroids(embed, examples, held);
  const [first, second] = [await unitRows(embed, held.columns[0] as string[]), await unitRows(embed, held.columns[1] as string[])];
  if (held.kind === 'scored') {
    const cosines = first.map((row, i) => dot(row, second[i] as Float64Array));
    const value = spearman(cosines, held.scores);
    return { score: value, measures: { spearman: value } };
  }
  const accuracy = first.filter((row, i) => nearest(row, second) === i).length / held.size;
  return { score: accuracy, measures: { accuracy } };
}
