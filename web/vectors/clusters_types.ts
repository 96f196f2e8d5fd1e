// Public types of clustering.
import type { Tensor } from '../core/tensor.js';

export interface ParaphraseOptions {
  /** Number of nearest rows considered per row. Default 100. */
  top_k?: number;
  /** Maximum number of pairs. Default 500000. */
  max_pairs?: number;
}

/** Rows i < j and their cosine. */
export interface ParaphrasePair {
  score: number;
  i: number;
  j: number;
}

export interface CommunityOptions {
  /** Minimum cosine with the central row. Default 0.75. */
  threshold?: number;
  /** Minimum rows of a community. Default 10. */
  min_community_size?: number;
}

export interface KMeansOptions {
  /** Runs with different initial centres; the best is returned. Default 4. */
  n_init?: number;
  /** Maximum iterations per run. Default 300. */
  max_iterations?: number;
  /** Seed of the initial centres. Default 0. */
  seed?: number;
}

export interface Clusters {
  /** `[rows]`: the cluster of each row. */
  labels: Int32Array;
  /** `[clusters, dim]` */
  centroids: Tensor<'float32'>;
  /** Sum of squared distances between rows and their centroids. */
  inertia: number;
}
