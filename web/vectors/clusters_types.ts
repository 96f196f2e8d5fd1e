// Public types of clustering.
import type { Tensor } from '../core/tensor.js';

/** Options of `paraphrase_mining`. */
export interface ParaphraseOptions {
  /** Number of nearest rows considered per row. Default 100. */
  top_k?: number;
  /** Maximum number of pairs. Default 500000. */
  max_pairs?: number;
}

/** Two similar rows, i < j. */
export interface ParaphrasePair {
  /** Their cosine, from -1 to 1. */
  score: number;
  /** Index of the first row. */
  i: number;
  /** Index of the second row; greater than `i`. */
  j: number;
}

/** Options of `community_detection`. */
export interface CommunityOptions {
  /** Minimum cosine with the central row. Default 0.75. */
  threshold?: number;
  /** Minimum rows of a community. Default 10. */
  min_community_size?: number;
}

/** Options of `k_means`. */
export interface KMeansOptions {
  /** Number of runs with different initial centres; the best is returned. Default 4. */
  n_init?: number;
  /** Maximum iterations per run. Default 300. */
  max_iterations?: number;
  /** Seed of the initial centres. Default 0. */
  seed?: number;
}

/** The result of `k_means`. */
export interface Clusters {
  /** The cluster of each row, `[rows]`. */
  labels: Int32Array;
  /** The centre of each cluster, `[clusters, dim]`. */
  centroids: Tensor<'float32'>;
  /** Sum of squared distances between rows and their centroids. */
  inertia: number;
}
