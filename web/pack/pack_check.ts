// What packing costs: vectors of the same sentences from two models.
import { describe, InputError } from '../core/errors.js';
import type { ModelSpecifier, SourceOptions } from '../source/types.js';
import { spearman } from '../vectors/measures.js';
import type { Comparison, ScoredPair } from './pack_types.js';
import type { PackParts } from './pack_parts.js';

type Rows = readonly Float32Array[];

function cosine(a: Float32Array, b: Float32Array): number {
  let [ab, aa, bb] = [0, 0, 0];
  for (let i = 0; i < a.length; ++i) {
    ab += (a[i] as number) * (b[i] as number);
    aa += (a[i] as number) ** 2;
    bb += (b[i] as number) ** 2;
  }
  return aa > 0 && bb > 0 ? ab / Math.sqrt(aa * bb) : Number(aa === bb);
}

/** The vector of each sentence; of a model without a pooling, the mean of its tokens'. */
async function vectorsOf(
  { pipeline }: PackParts,
  model: ModelSpecifier,
  texts: readonly string[],
  options: SourceOptions,
): Promise<Rows> {
  const embed = await pipeline('feature-extraction', model, options);
  try {
    const first = await embed(texts.slice(0, 1), { signal: options.signal });
    const out = await embed(texts, { signal: options.signal, ...(first.dims.length > 2 && { pooling: 'mean' }) });
    const [, dim] = out.dims as [number, number];
    return texts.map((_, i) => out.data.slice(i * dim, (i + 1) * dim) as Float32Array);
  } finally {
    await embed.dispose();
  }
}

export async function comparePacked(
  parts: PackParts,
  original: ModelSpecifier,
  packed: ModelSpecifier,
  pairs: readonly ScoredPair[],
  options: SourceOptions,
): Promise<Comparison> {
  if (!Array.isArray(pairs) || pairs.length === 0)
    throw new InputError(
      `comparePacked: expected pairs of sentences with a score, found ${pairs?.length === 0 ? 'none' : describe(pairs)}`,
    );
  pairs.forEach((pair, i) => {
    const isPair = typeof pair?.sentence1 === 'string' && typeof pair.sentence2 === 'string' && Number.isFinite(pair.score);
    if (!isPair)
      throw new InputError(`comparePacked: expected sentence1, sentence2 and a score in pair ${i}, found ${describe(pair)}`);
  });
  const texts = [...new Set(pairs.flatMap(({ sentence1, sentence2 }) => [sentence1, sentence2]))];
  const place = new Map(texts.map((text, i) => [text, i]));
  const before = await vectorsOf(parts, original, texts, options);
  const after = await vectorsOf(parts, packed, texts, options);
  const of = (rows: Rows, text: string) => rows[place.get(text) as number] as Float32Array;
  const scores = pairs.map(({ score }) => score);
  const correlation = (rows: Rows) =>
    spearman(
      pairs.map(({ sentence1, sentence2 }) => cosine(of(rows, sentence1), of(rows, sentence2))),
      scores,
    );
  const dim = Math.min(before[0]?.length ?? 0, after[0]?.length ?? 0);
  const cosines = texts.map((_, i) =>
    cosine((before[i] as Float32Array).subarray(0, dim), (after[i] as Float32Array).subarray(0, dim)),
  );
  return {
    pairs: pairs.length,
    cosine: { mean: cosines.reduce((sum, value) => sum + value, 0) / cosines.length, worst: Math.min(...cosines) },
    spearman: { original: correlation(before), packed: correlation(after) },
  };
}
