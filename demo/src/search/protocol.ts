// What page and index worker say to each other: a call has an id, its answer has the same one.
import type { ModelSpecifier } from 'wattn';

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

/** How the pieces lie to each other. */
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

export interface Hit {
  piece: number;
  score: number;
}

/** What the worker does. fingerprint: of the model whose vectors they are. */
export interface IndexCalls {
  chunk(model: ModelSpecifier | null, text: string, size: number): Promise<Omit<Piece, 'doc'>[]>;
  /** Lays the pieces out; answers words that might name each cluster, whose vectors `keep` needs. */
  arrange(index: Omit<IndexFacts, 'picture' | 'built'>, vectors: Float32Array): Promise<string[][]>;
  /** Names the clusters by the words nearest to their middles, and keeps the index. name: the model's. */
  keep(fingerprint: string, name: string, words: string[], wordVectors: Float32Array): Promise<IndexFacts>;
  /** The kept index of a model; undefined: there is none. */
  restore(fingerprint: string): Promise<IndexFacts | undefined>;
  /** Takes the index out of the browser's database. */
  forget(fingerprint: string): Promise<void>;
  search(query: Float32Array, count: number): Promise<{ hits: Hit[]; at: [number, number] }>;
}

export interface Call {
  id: number;
  name: keyof IndexCalls;
  args: unknown[];
}

export type Answer = { id: number; result: unknown } | { id: number; error: { name: string; message: string } };
