// The usual measures of a validation set, from sentence vectors.
import { exp } from '../core/scores.js';
import { f1Of, labelMeasures, spearman, type Counts } from '../vectors/measures.js';
import type { Embeddings, LabelScore } from '../vectors/types.js';
import type { Examples } from './rows.js';
import type { Evaluation } from './types.js';

export interface Judged {
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

/** found, expected: one label each. */
function ofLabels(found: readonly string[], expected: readonly string[]): Judged {
  const measures = labelMeasures(found, expected);
  return { score: measures.accuracy, measures };
}

/** F1 over all that was found, whatever the label. */
function ofSets(found: readonly ReadonlySet<string>[], expected: readonly ReadonlySet<string>[]): Judged {
  const counts: Counts = { right: 0, found: 0, expected: 0 };
  found.forEach((own, i) => {
    const other = expected[i] as ReadonlySet<string>;
    counts.found += own.size;
    counts.expected += other.size;
    for (const label of own) counts.right += Number(other.has(label));
  });
  const f1 = f1Of(counts);
  return { score: f1, measures: { f1 } };
}

/** Each label's mean vector over the training set judges the others. */
async function byCentroids(embed: Embed, examples: Examples, held: Examples): Promise<Judged> {
  const labels = examples.labels.flat();
  const names = [...new Set(labels)].sort();
  const rows = await unitRows(embed, examples.columns[0] as string[]);
  const centroids = names.map((name) => {
    const own = rows.filter((_, i) => labels[i] === name);
    const sum = new Float64Array((own[0] as Float64Array).length);
    for (const row of own) row.forEach((x, k) => ((sum[k] as number) += x));
    const length = Math.sqrt(dot(sum, sum)) || 1;
    return sum.map((x) => x / length);
  });
  const found = (await unitRows(embed, held.columns[0] as string[])).map((row) => names[nearest(row, centroids)] as string);
  return ofLabels(found, held.labels.flat());
}

/** A set of the kinds that are judged by sentence vectors. */
export async function evaluateVectors(embed: Embed, examples: Examples, held: Examples): Promise<Judged> {
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

/** The entities of a row's tags (BIO, or a label for each word of an entity), as "label from to". */
function entitiesOf(tags: readonly string[]): Set<string> {
  const out = new Set<string>();
  let from = 0;
  const labelOf = (tag: string | undefined) => (tag === undefined || tag === 'O' ? undefined : tag.replace(/^[BI]-/, ''));
  tags.forEach((tag, i) => {
    const [label, before] = [labelOf(tag), labelOf(tags[i - 1])];
    if (label !== before || tag.startsWith('B-')) from = i;
    const ends = labelOf(tags[i + 1]) !== label || (tags[i + 1] ?? '').startsWith('B-');
    if (label !== undefined && ends) out.add(`${label} ${from} ${i}`);
  });
  return out;
}

type Run = (task: string, items: unknown[], options: object) => Promise<unknown[]>;

/** A set of the kinds that are judged by a head's logits. */
export async function evaluateHead(run: Run, held: Examples): Promise<Judged> {
  const [texts = [], pairs] = held.columns;
  if (held.kind === 'tokens') {
    const options = { aggregation_strategy: 'none', ignore_labels: [] };
    type Token = { entity: string; start: number; end: number };
    const results = (await run('token-classification', texts, options)) as { entities: Token[] }[];
    // The tag of a word's first token. A word without tokens, such as a lone variation selector, has none.
    const found = results.map(({ entities }, i) => {
      const begins = held.begins[i] as number[];
      return begins.map((begin, word) => {
        const next = begins[word + 1] ?? Infinity;
        return entities.find(({ start, end }) => end > begin && start < next)?.entity ?? 'O';
      });
    });
    return ofSets(found.map(entitiesOf), held.labels.map(entitiesOf));
  }
  const items = texts.map((text, i) => (pairs ? { text, text_pair: pairs[i] } : { text }));
  const results = (await run('text-classification', items, { top_k: Infinity, function_to_apply: 'none' })) as {
    labels: LabelScore[];
  }[];
  if (held.kind === 'value') {
    const found = results.map(({ labels }) => labels[0]?.score ?? 0);
    const mse = found.reduce((sum, x, i) => sum + (x - (held.scores[i] as number)) ** 2, 0) / held.size;
    return { score: -mse, measures: { spearman: spearman(found, held.scores), mse } };
  }
  if (held.kind === 'labelled') {
    return ofLabels(
      results.map(({ labels }) => labels[0]?.label ?? ''),
      held.labels.flat(),
    );
  }
  return ofSets(
    results.map(({ labels }) => new Set(labels.filter(({ score }) => score > 0).map(({ label }) => label))),
    held.labels.map((own) => new Set(own)),
  );
}

/** The mean loss of a language model's tokens. sumOf: over some rows. */
export async function evaluateLanguage(
  sumOf: (indices: number[]) => Promise<{ sum: number; tokens: number }>,
  size: number,
  batch: number,
): Promise<Judged> {
  let [sum, tokens] = [0, 0];
  for (let begin = 0; begin < size; begin += batch) {
    const part = await sumOf(Array.from({ length: Math.min(batch, size - begin) }, (_, i) => begin + i));
    sum += part.sum;
    tokens += part.tokens;
  }
  const loss = sum / tokens;
  return { score: -loss, measures: { loss, perplexity: exp(loss) } };
}
