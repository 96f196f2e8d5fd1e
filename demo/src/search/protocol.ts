// What the page and the index workers say to each other: a call has an id, and its answer has the same one. One worker searches; another
// builds, so that a search never waits for building, and cancelling ends the worker.
import type { ModelSpecifier } from 'wattn';
import type { Plane } from './pca.js';

export interface Doc {
  name: string;
  text: string;
}

/** docs[doc].text.slice(start, end) */
export interface Piece {
  doc: number;
  start: number;
  end: number;
  tokens: number;
}

/** How the pieces are placed on the map. */
export interface Picture {
  /** [pieces, 2] */
  points: Float32Array;
  /** [pieces]: the cluster of each. */
  labels: Int32Array;
  /** Words for each cluster. */
  terms: string[][];
  /** Part of all variance that the two directions have. */
  share: number;
}

export interface IndexFacts {
  docs: Doc[];
  pieces: Piece[];
  /** Tokens of a piece at most. */
  size: number;
  picture: Picture;
  /** When it was built; ms since 1970. */
  built: number;
  /** Why the browser's database did not take it, if it did not. */
  unkept?: string;
}

export interface Index extends Omit<IndexFacts, 'unkept'> {
  vectors: Float32Array;
  plane: Plane;
}

export interface Hit {
  piece: number;
  score: number;
}

export interface Found {
  hits: Hit[];
  /** Where the query lies on the map. */
  at: [number, number];
  /** `built` of the index that answered. */
  built: number;
}

/** What the building worker does. */
export interface BuildCalls {
  chunk(model: ModelSpecifier | null, text: string, size: number): Promise<Omit<Piece, 'doc'>[]>;
  /** Lays the pieces out. Answers words that might name each cluster, whose vectors `finish` needs. */
  arrange(index: Omit<IndexFacts, 'picture' | 'built'>, vectors: Float32Array): Promise<string[][]>;
  /** Names the clusters by the words nearest to their middles. */
  finish(words: string[], wordVectors: Float32Array): Promise<Pick<Index, 'picture' | 'plane' | 'built'>>;
}

/** What the searching worker does. fingerprint: of the model whose vectors they are. */
export interface SearchCalls {
  /**
   * Searches this index from now on, and keeps it in the browser's database. Answers why the database did not take it, if it did not.
   * name: the model's, for people who look into the database.
   */
  keep(fingerprint: string, name: string, index: Index): Promise<string | undefined>;
  /** The kept index of a model; undefined: there is none. */
  restore(fingerprint: string): Promise<IndexFacts | undefined>;
  /** Takes the index out of the browser's database. */
  forget(fingerprint: string): Promise<void>;
  search(query: Float32Array, count: number): Promise<Found>;
}

export interface Call {
  id: number;
  name: keyof BuildCalls | keyof SearchCalls;
  args: unknown[];
}

export type Answer = { id: number; result: unknown } | { id: number; error: { name: string; message: string } };
