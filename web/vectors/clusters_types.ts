// Public types of clustering.
import type { Tensor } from '../core/tensor.js';

export interface ParaphraseOptions {
  /** Nearest others of each row that count. Default 100. */
  top_k?: number;
  /** Pairs at most. Default 500000. */
  max_pairs?: number;
}

/** Rows i < j, and their cosine. */
export interface ParaphrasePair {
  score: number;
  i: number;
  j: number;
}

export interface CommunityOptions {
  /** Cosine from which on two rows are near. Default 0.75. */
  threshold?: number;
  /** Rows of a community at least. Default 10. */
  min_community_size?: number;
}

export interface KMeansOptions {
  /** Runs from other centres, of which the best is the answer. Default 4. */
  n_init?: number;
  /** Of a run, at most. Default 300. */
  max_iterations?: number;
  /** The same gives the same. Default 0. */
  seed?: number;
}

export interface Clusters {
  /** `[rows]`: the cluster of each. */
  labels: Int32Array;
  /** `[clusters, dim]` */
  centroids: Tensor<'float32'>;
  /** Sum of the squared distances of rows to their centroids. */
  inertia: number;
}
