// Public types of evaluate().
import type { AbortSignalLike } from '../core/types.js';
import type { ClassifierOptions } from '../vectors/classifier_types.js';
import type { RankingMeasures } from '../vectors/measures.js';

/** Two sentences and how alike people find them, on any scale. */
export interface ScoredSentences {
  /** The first sentence. */
  sentence1: string;
  /** The second sentence. */
  sentence2: string;
  /** How alike people find them; only the order of scores counts for Spearman's correlation. */
  score: number;
}

/** A text, or a pair of texts, and its label. */
export interface LabelledText {
  /** The text, or the first of a pair. */
  text: string;
  /** The second text of a pair. */
  text_pair?: string | undefined;
  /** The name of the label. A number is that label's place in `labels` of the options, or, without `labels`, its name in digits. */
  label: string | number;
}

/** A test collection, as BEIR has them. */
export interface RetrievalSet {
  /** The documents. A title is read before the text. */
  corpus: readonly { id: string; text: string; title?: string | undefined }[];
  /** The questions, each with its id. */
  queries: readonly { id: string; text: string }[];
  /** For the id of each query the ids of the documents that answer it. Queries without any are left out. */
  relevant: Readonly<Record<string, readonly string[]>>;
}

/** How far an evaluation is. */
export interface EvaluateProgress {
  /** Texts that the model has read. */
  done: number;
  /** All texts that it has to read. */
  total: number;
}

interface CommonOptions {
  /** Called while the model reads the texts. An exception from it ends the evaluation. */
  progress_callback?: ((progress: EvaluateProgress) => unknown) | undefined;
  /** Ends the evaluation with an `AbortError`. */
  signal?: AbortSignalLike | undefined;
}

/** Options of `evaluate` for the task `'sts'`. */
export interface StsOptions extends CommonOptions {
  /** What is compared with the scores. Distances count with a minus sign. Default `'cosine'`. */
  similarity?: 'cosine' | 'dot' | 'euclidean' | 'manhattan' | undefined;
}

/** Options of `evaluate` for the task `'retrieval'`. */
export interface RetrievalEvaluationOptions extends CommonOptions {
  /** What documents are ranked by. Default `'cosine'`. */
  similarity?: 'cosine' | 'dot' | undefined;
}

/** Options of `evaluate` for the task `'classification'`. */
export interface ClassificationOptions extends CommonOptions {
  /** For a `'feature-extraction'` pipeline: the texts that a classifier on its vectors learns from (`Classifier.fit`). */
  train?: readonly LabelledText[] | undefined;
  /** For a `'feature-extraction'` pipeline: options of the classifier. */
  classifier?: Omit<ClassifierOptions, 'signal' | 'progress_callback' | 'validation'> | undefined;
  /** Names of labels that are numbers in the data: `['NEGATIVE', 'POSITIVE']` names 0 and 1. */
  labels?: readonly string[] | undefined;
}

/** Options of `evaluate` for the task `'clustering'`. */
export interface ClusteringOptions extends CommonOptions {
  /** Seed of k-means. Default 0. */
  seed?: number | undefined;
}

type Similarity<Options, Default extends string> = Options extends { similarity: infer Name extends string } ? Name : Default;

/** Correlations of the model's similarities with the scores, from -1 to 1. */
export type StsMeasures<Options = object> = Record<`${'pearson' | 'spearman'}_${Similarity<Options, 'cosine'>}`, number> & {
  /** How many pairs were judged. */
  pairs: number;
};

/** Means over the queries, from 0 to 1: `cosine_ndcg@10`, `cosine_recall@5`, .. */
export type RetrievalMeasures<Options = object> = {
  [Name in keyof RankingMeasures as `${Similarity<Options, 'cosine'>}_${Name}`]: number;
} & {
  /** How many queries were judged. */
  queries: number;
  /** How many documents were searched. */
  documents: number;
};

/** How well texts were labelled. */
export interface ClassificationMeasures {
  /** The share of texts whose best label is right. */
  accuracy: number;
  /** The mean of the labels' F1. */
  macro_f1: number;
  /** The number of texts that were judged. */
  texts: number;
}

/** How well clusters agree with labels, from 0 to 1 (Rosenberg and Hirschberg 2007). */
export interface ClusteringMeasures {
  /** The harmonic mean of homogeneity and completeness. */
  v_measure: number;
  /** 1 if each cluster has texts of one label only. */
  homogeneity: number;
  /** 1 if the texts of each label are in one cluster. */
  completeness: number;
  /** The number of texts. */
  texts: number;
  /** The number of clusters: as many as there are labels. */
  clusters: number;
}
