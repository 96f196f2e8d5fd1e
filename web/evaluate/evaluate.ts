// evaluate(): how good a model is on a data set. The code is loaded when it is first used.
import type { FeatureExtractionPipeline } from '../tasks/embed_types.js';
import type {
  ClassificationMeasures,
  ClassificationOptions,
  ClusteringMeasures,
  ClusteringOptions,
  LabelledText,
  RetrievalEvaluationOptions,
  RetrievalMeasures,
  RetrievalSet,
  ScoredSentences,
  StsMeasures,
  StsOptions,
} from './evaluate_types.js';
import type { TextClassificationPipeline } from '../tasks/task_types.js';

/**
 * Scores a model on a data set.
 *
 * - `'sts'`: pairs of sentences with human similarity scores. Pearson and Spearman correlation, as in sentence-transformers'
 *   EmbeddingSimilarityEvaluator.
 * - `'retrieval'`: queries, documents, and the relevant documents of each query. Accuracy, precision and recall at 1, 3, 5 and 10, MRR and nDCG at 10,
 *   MAP at 100, as in sentence-transformers' InformationRetrievalEvaluator. Uses the model's prompts for queries and documents.
 * - `'classification'`: texts and labels. Accuracy and macro F1 of the model's head, or, for a `'feature-extraction'` pipeline, of a classifier on its
 *   vectors, trained on `options.train`.
 * - `'clustering'`: texts and labels. V-measure of k-means with one cluster per label.
 *
 * Texts are truncated to the model's maximum. The pipeline is not disposed.
 *
 * InputError: a row lacks a field, the data is empty, a relevant document is not in the corpus, or the pipeline is not one for the task. AbortError:
 * `signal` fired.
 *
 *     const embed = await pipeline('feature-extraction', 'sentence-transformers/all-MiniLM-L6-v2');
 *     await evaluate(embed, 'sts', [{ sentence1: 'A man plays.', sentence2: 'Someone plays.', score: 4.2 }, ..]);
 *     // { pearson_cosine: 0.83, spearman_cosine: 0.82, pairs: 1379 }
 *
 * @example
 * const embed = await pipeline('feature-extraction');
 * const pairs = [
 *   { sentence1: 'A boat.', sentence2: 'A small boat.', score: 5 },
 *   { sentence1: 'A boat.', sentence2: 'Fresh bread.', score: 0 },
 * ];
 * (await evaluate(embed, 'sts', pairs)).spearman_cosine; // => 1
 */
export function evaluate<Options extends StsOptions>(
  pipe: FeatureExtractionPipeline,
  task: 'sts',
  data: readonly ScoredSentences[],
  options?: Options,
): Promise<StsMeasures<Options>>;
export function evaluate<Options extends RetrievalEvaluationOptions>(
  pipe: FeatureExtractionPipeline,
  task: 'retrieval',
  data: RetrievalSet,
  options?: Options,
): Promise<RetrievalMeasures<Options>>;
export function evaluate(
  pipe: FeatureExtractionPipeline | TextClassificationPipeline,
  task: 'classification',
  data: readonly LabelledText[],
  options?: ClassificationOptions,
): Promise<ClassificationMeasures>;
export function evaluate(
  pipe: FeatureExtractionPipeline,
  task: 'clustering',
  data: readonly LabelledText[],
  options?: ClusteringOptions,
): Promise<ClusteringMeasures>;
export async function evaluate(pipe: unknown, task: unknown, data: unknown, options?: object): Promise<unknown> {
  return (await import('./evaluation.js')).evaluate(pipe, task, data, options ?? {});
}
