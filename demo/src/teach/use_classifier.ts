// A classifier that follows its examples: fitted anew shortly after each change, with cross-validation; or loaded from files.
import { Classifier, Tensor, type EmbedOptions, type FeatureExtractionPipeline, type TextClassifier } from 'wattn';
import { useEffect, useState } from 'preact/hooks';
import type { Example } from './sure_words.js';
import { useEmbeddings } from '../compare/use_embeddings.js';

export interface Taught {
  name: string;
  /** One example a line. */
  examples: string;
}

export interface ClassifierState {
  classifier?: TextClassifier;
  /** What it was fitted to; none where it came from files. */
  examples?: readonly Example[];
  /** Milliseconds of the last fitting. */
  ms?: number;
  /** What is missing before anything can be learned. */
  missing?: string;
  error?: Error;
  /** Whether it came from files and not from the examples. */
  isLoaded: boolean;
}

const kMostFolds = 5;

export const linesOf = ({ examples }: Taught) =>
  examples
    .split('\n')
    .map((line) => line.trim())
    .filter(Boolean);

/** Why these classes cannot be told apart yet. */
function missingOf(classes: readonly Taught[]): string | undefined {
  const named = classes.filter(({ name }) => name.trim() !== '');
  if (named.length < 2 || named.length < classes.length) return 'Give at least two classes, each with a name.';
  if (new Set(named.map(({ name }) => name.trim())).size < named.length) return 'Two classes have the same name.';
  const few = named.find((taught) => linesOf(taught).length < 2);
  return few && `“${few.name}” needs at least two examples.`;
}

async function fit(
  embed: FeatureExtractionPipeline,
  classes: readonly Taught[],
  vectors: ReadonlyMap<string, Float32Array>,
  options: EmbedOptions,
) {
  const examples = classes.flatMap((taught) => linesOf(taught).map((text) => ({ text, label: taught.name.trim() })));
  const rows = examples.map(({ text }) => vectors.get(text) as Float32Array);
  const dim = rows[0]?.length ?? 0;
  const data = new Float32Array(rows.length * dim);
  rows.forEach((row, i) => data.set(row, i * dim));
  const folds = Math.min(kMostFolds, ...classes.map((taught) => linesOf(taught).length));
  const start = performance.now();
  const classifier = await Classifier.fit(
    embed,
    new Tensor('float32', data, [rows.length, dim]),
    examples.map(({ label }) => label),
    { validation: folds, embed_options: options, class_weight: 'balanced' },
  );
  return {
    classifier,
    examples: examples.map(({ text, label }, i) => ({ text, label, vector: rows[i] as Float32Array })),
    ms: performance.now() - start,
    isLoaded: false,
  };
}

export function useClassifier(embed: FeatureExtractionPipeline, classes: readonly Taught[], options: EmbedOptions) {
  const [state, setState] = useState<ClassifierState>({ isLoaded: false });
  const embedded = useEmbeddings(embed, classes.flatMap(linesOf), options);
  const missing = missingOf(classes);
  useEffect(() => {
    if (missing) return setState({ missing, isLoaded: false });
    if (embedded.busy || !classes.flatMap(linesOf).every((text) => embedded.vectors.has(text))) return;
    let stale = false;
    fit(embed, classes, embedded.vectors, options)
      .then((fitted) => !stale && setState(fitted))
      .catch((error: Error) => !stale && setState({ error, isLoaded: false }));
    return () => void (stale = true);
  }, [embedded.vectors, embedded.busy, JSON.stringify(classes)]);
  const load = async (files: readonly File[]) => {
    try {
      const named = new Map(files.map((file) => [file.name, file]));
      setState({ classifier: await Classifier.load(embed, named), isLoaded: true });
    } catch (error) {
      setState({ error: error as Error, isLoaded: true });
    }
  };
  const error = embedded.error ?? state.error;
  return { ...state, ...(error && { error }), load };
}
