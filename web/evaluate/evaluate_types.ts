// Public types of evaluate().
import type { AbortSignalLike } from '../core/types.js';
import type { ClassifierOptions } from '../vectors/classifier_types.js';
import type { RankingMeasures } from '../vectors/measures.js';

/** Two sentences and a human similarity score, on any scale. */
export interface ScoredSentences {
  /** The first sentence. */
  sentence1: string;
  /** The second sentence. */
  sentence2: string;
  /** How similar people find them. Spearman correlation uses only the order of scores. */
  score: number;
}

/** A text, or a pair of texts, and its label. */
export interface LabelledText {
  /** The text, or the first of a pair. */
  text: string;
  /** The second text of a pair. */
  text_pair?: string | undefined;
  /** The name of the label. A number is an index into the option `labels`, or, without `labels`, the digits as a name. */
  label: string | number;
}

/** A retrieval test collection, in BEIR's form. */
export interface RetrievalSet {
  /** The documents. The title is put before the text. */
  corpus: readonly { id: string; text: string; title?: string | undefined }[];
  /** The queries, each with its id. */
  queries: readonly { id: string; text: string }[];
  /** The ids of the relevant documents, by query id. Queries without any are skipped. */
  relevant: Readonly<Record<string, readonly string[]>>;
}

/** Progress of an evaluation. */
export interface EvaluateProgress {
  /** Number of texts that the model has read. */
  done: number;
  /** Number of texts to read. */
  total: number;
}

interface CommonOptions {
  /** Called while the model reads texts. An exception from it stops the evaluation. */
  progress_callback?: ((progress: EvaluateProgress) => unknown) | undefined;
  /** Cancels the evaluation with an `AbortError`. */
  signal?: AbortSignalLike | undefined;
}

/** Options of `evaluate` for the task `'sts'`. */
export interface StsOptions extends CommonOptions {
  /** The similarity to compare with the scores. Distances count with a minus sign. Default `'cosine'`. */
  similarity?: 'cosine' | 'dot' | 'euclidean' | 'manhattan' | undefined;
}

/** Options of `evaluate` for the task `'retrieval'`. */
export interface RetrievalEvaluationOptions extends CommonOptions {
  /** The similarity that ranks documents. Default `'cosine'`. */
  similarity?: 'cosine' | 'dot' | undefined;
}

/** Options of `evaluate` for the task `'classification'`. */
export interface ClassificationOptions extends CommonOptions {
  /** For a `'feature-extraction'` pipeline: the texts to train a classifier on its vectors with (`Classifier.fit`). */
  train?: readonly LabelledText[] | undefined;
  /** For a `'feature-extraction'` pipeline: options of the classifier. */
  classifier?: Omit<ClassifierOptions, 'signal' | 'progress_callback' | 'validation'> | undefined;
  /** Names for labels that are numbers in the data: `['NEGATIVE', 'POSITIVE']` names 0 and 1. */
  labels?: readonly string[] | undefined;
}

/** Options of `evaluate` for the task `'clustering'`. */
export interface ClusteringOptions extends CommonOptions {
  /** Seed of k-means. Default 0. */
  seed?: number | undefined;
}

type Similarity<Options, Default extends string> = Options extends { similarity: infer Name extends string } ? Name : Default;

/** Correlations between the model's similarities and the scores, from -1 to 1. */
export type StsMeasures<Options = object> = Record<`${'pearson' | 'spearman'}_${Similarity<Options, 'cosine'>}`, number> & {
  /** Number of pairs. */
  pairs: number;
};

/** Means over the queries, from 0 to 1: `cosine_ndcg@10`, `cosine_recall@5`, .. */
export type RetrievalMeasures<Options = object> = {
  [Name in keyof RankingMeasures as `${Similarity<Options, 'cosine'>}_${Name}`]: number;
} & {
  /** Number of queries. */
  queries: number;
  /** Number of documents. */
  documents: number;
};

/** Results of `'classification'`. */
export interface ClassificationMeasures {
  /** The fraction of texts whose top label is correct. */
  accuracy: number;
  /** The mean of the labels' F1 scores. */
  macro_f1: number;
  /** Number of texts. */
  texts: number;
}

/** How well clusters match labels, from 0 to 1 (Rosenberg and Hirschberg 2007). */
export interface ClusteringMeasures {
  /** The harmonic mean of homogeneity and completeness. */
  v_measure: number;
  /** 1 if each cluster contains only texts of one label. */
  homogeneity: number;
  /** 1 if all texts of a label are in the same cluster. */
  completeness: number;
  /** Number of texts. */
  texts: number;
  /** Number of clusters: one per label. */
  clusters: number;
}
