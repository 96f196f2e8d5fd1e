// What the parts of the search panel pass to each other.
import type { IndexHit } from 'wattn';
import type { Plane } from './pca.js';

export interface Doc {
  name: string;
  text: string;
}

/** A chunk of the index. */
export interface Piece {
  /** The document's, in the index. */
  id: string;
  name: string;
  text: string;
  start: number;
  end: number;
}

/** How the pieces are placed on the map. */
export interface Picture {
  plane: Plane;
  /** [pieces, 2] */
  points: Float32Array;
  /** [pieces]: the cluster of each. */
  labels: Int32Array;
  /** Words for each cluster. */
  terms: string[][];
}

export interface IndexFacts {
  /** Number of documents. */
  texts: number;
  pieces: Piece[];
  picture: Picture;
  /** When it was built; ms since 1970. */
  built: number;
  /** Why the browser does not keep it, if it does not. */
  unkept?: string;
}

export interface Hit extends Pick<IndexHit, 'score' | 'close' | 'why' | 'highlights'> {
  piece: number;
}

export interface Found {
  hits: Hit[];
  /** Where the query lies on the map. */
  at: [number, number];
  /** `built` of the index that answered. */
  built: number;
}
