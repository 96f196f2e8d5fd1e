// Words that matter, and not by the chance of which examples there are: classifiers of resampled examples must agree.
import { Classifier, Tensor, type EmbedOptions, type Explanation, type FeatureExtractionPipeline } from 'wattn';

const kSamples = 12;
const kDeviations = 2;
const kLeast = 0.02; // of a score

export interface Example {
  text: string;
  label: string;
  vector: Float32Array;
}

/** Numbers from 0 to 1, the same in each visit. */
function* numbers(): Generator<number, never> {
  for (let state = 1; ;) {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    yield state / 2 ** 32;
  }
}

/** As many examples of each label as there were, some of them twice (a bootstrap within each label). */
export function resampled<T extends { label: string }>(examples: readonly T[], next: () => number): T[] {
  const labels = [...new Set(examples.map(({ label }) => label))];
  return labels.flatMap((label) => {
    const own = examples.filter((example) => example.label === label);
    return own.map(() => own[Math.floor(next() * own.length)] as T);
  });
}

/** Whether a word's effect is above what the choice of examples makes of it. effects: of each resampled classifier. */
export function isSure(word: string, effects: readonly number[]): boolean {
  if (!/\p{L}|\p{N}/u.test(word)) return false; // a mark is no word
  const mean = effects.reduce((sum, effect) => sum + effect, 0) / effects.length;
  const deviation = Math.sqrt(effects.reduce((sum, effect) => sum + (effect - mean) ** 2, 0) / (effects.length - 1));
  return mean >= kLeast && mean >= kDeviations * deviation;
}

export const tensorOf = (vectors: readonly Float32Array[]) => {
  const dim = vectors[0]?.length ?? 0;
  const data = new Float32Array(vectors.length * dim);
  vectors.forEach((vector, i) => data.set(vector, i * dim));
  return new Tensor('float32', data, [vectors.length, dim]);
};

/** The indices of an explanation's words that support its label under classifiers of resampled examples, too. */
export async function sureWords(
  embed: FeatureExtractionPipeline,
  text: string,
  { words, label }: Explanation,
  { examples, strength }: { examples: readonly Example[]; strength: number | undefined },
  options: EmbedOptions,
): Promise<Set<number>> {
  const texts = [text, ...words.map(({ start, end }) => text.slice(0, start) + text.slice(end))];
  const { data, dims } = await embed(texts, options);
  const variants = new Tensor('float32', data as Float32Array, dims);
  const random = numbers();
  const effects = words.map((): number[] => []);
  for (let i = 0; i < kSamples; ++i) {
    const sample = resampled(examples, () => random.next().value);
    const classifier = await Classifier.fit(
      embed,
      tensorOf(sample.map(({ vector }) => vector)),
      sample.map((one) => one.label),
      {
        class_weight: 'balanced',
        calibrate: false,
        ...(strength !== undefined && { C: strength }),
      },
    );
    const scores = (await classifier(variants, { top_k: null })).map((list) => list.find((one) => one.label === label)?.score ?? 0);
    words.forEach((_, k) => effects[k]?.push((scores[0] as number) - (scores[k + 1] as number)));
  }
  return new Set(words.map((_, k) => k).filter((k) => isSure(words[k]?.word ?? '', effects[k] ?? [])));
}
