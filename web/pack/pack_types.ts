// Public types of packing.
import type { SourceOptions } from '../source/types.js';
import type { TrainingTexts } from '../tokenizer/types.js';

/** Options of `packModel` and `packTo`. */
export interface PackOptions extends SourceOptions {
  /**
   * Data type of the matrices: `'q8'` (default; blocks of 32 int8 with a scale, GGUF's q8_0), `'q4'` (q4_0), `'mixed'` (q4_0 where it costs least, else
   * q8_0), `'native'`, `'f16'` or `'f32'`. `'native'` stores the numbers that wattn's `dtype: 'q8'` computes with: loading quantizes nothing, and
   * vectors are identical to those of the original loaded with `'q8'`. llama.cpp cannot read it. A quantized matrix whose rows are not whole blocks of
   * 32 (`'native'`: 64) stays float32.
   */
  dtype?: 'f32' | 'f16' | 'q8' | 'q4' | 'mixed' | 'native' | undefined;
  /**
   * Number of vocabulary pieces to keep: special tokens, single characters and bytes, and the pieces that `corpus` uses most. The tokenizer and the
   * matrices over the vocabulary are rewritten to match.
   */
  vocab?: number | undefined;
  /** Texts like those that the model will read. Required with `vocab`. */
  corpus?: TrainingTexts | undefined;
  /**
   * A few hundred texts like those that the model will read. Matrices in 4 bits (`dtype: 'q4'` or `'mixed'`) are rounded so that the layers' results for
   * these texts change least. The file does not contain the texts.
   */
  calibrate?: readonly string[] | undefined;
  /** Indices of the layers to keep, in increasing order, starting with 0. */
  layers?: readonly number[] | undefined;
  /** Number of components of the sentence vector to keep, from the first (Matryoshka). The packed model gives vectors of this size by default. */
  dim?: number | undefined;
}

/** The result of `packModel`. */
export interface PackReport {
  /** Size of the packed file, in bytes. */
  bytes: number;
  /** Size of the original weight files, in bytes. */
  original_bytes: number;
  /** Number of tensors in the file. */
  tensors: number;
  /** Number of layers, if they are numbered. */
  layers?: number;
  /** Number of vocabulary pieces, if the vocabulary was cut. */
  vocab?: number;
  /** The fraction of the corpus's tokens that are still one piece, if the vocabulary was cut. */
  kept_tokens?: number;
  /** Components of a sentence vector, if it was cut. */
  dim?: number;
  /** The architecture's name in llama.cpp, if llama.cpp can read the file; otherwise null. */
  llama_cpp: string | null;
  /** Why llama.cpp cannot read it. */
  why_not?: string;
}

/** Two sentences with a human similarity score. */
export interface ScoredPair {
  /** The first sentence. */
  sentence1: string;
  /** The second sentence. */
  sentence2: string;
  /** How similar people find the sentences. */
  score: number;
}

/** The result of `comparePacked`. */
export interface Comparison {
  /** Number of pairs. */
  pairs: number;
  /** Cosine similarity between both models' vectors of the same sentence, over the components that both have. */
  cosine: { mean: number; worst: number };
  /** Spearman correlation of each model's cosines with the scores. */
  spearman: { original: number; packed: number };
}
