// Beside the page: lays chunks out as a map. A message asks for one, and the answer is the next message.
import { k_means, Tensor } from 'wattn';
import { principalPlane, project } from './pca.js';
import { termsOf } from './terms.js';
import type { Picture } from './types.js';

export interface Chunks {
  texts: string[];
  /** [texts, dim] */
  vectors: Float32Array;
}

export interface Layout extends Omit<Picture, 'terms'> {
  /** [clusters, dim] */
  centroids: Float32Array;
  /** For each cluster, words that might name it. */
  candidates: string[][];
}

const kMostClusters = 8;
const kPiecesOfCluster = 5; // of fewer pieces, fewer clusters

function layOut({ texts, vectors }: Chunks): Layout {
  const dim = vectors.length / texts.length;
  const count = Math.max(1, Math.min(kMostClusters, Math.floor(texts.length / kPiecesOfCluster)));
  const tensor = new Tensor('float32', vectors, [texts.length, dim]);
  const { labels, centroids } = k_means(tensor, count, { n_init: 2, max_iterations: 50 });
  const plane = principalPlane(vectors, dim);
  const points = project(vectors, dim, plane);
  return { plane, points, labels, centroids: centroids.data, candidates: termsOf(texts, labels, count) };
}

addEventListener('message', ({ data }: MessageEvent<Chunks>) => postMessage(layOut(data)));
