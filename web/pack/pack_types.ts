// Public types of packing.
import type { SourceOptions } from '../source/types.js';
import type { TrainingTexts } from '../tokenizer/types.js';

/** Options of `packModel` and `packTo`. */
export interface PackOptions extends SourceOptions {
  /**
   * Data type of the matrices: `'q8'` (default; blocks of 32 int8 with a scale, GGUF's q8_0), `'q4'` (q4_0), `'mixed'` (q4_0 where it costs
   * least, else q8_0), `'native'`, `'f16'` or `'f32'`. `'native'` has the numbers that wattn's `dtype: 'q8'` multiplies. Nothing is quantized when
   * such a file is loaded, and its vectors have the bits of the original loaded with `'q8'`; llama.cpp does not read it. A quantized matrix whose
   * rows are not whole blocks of 32 (`'native'`: 64) stays float32.
   */
  dtype?: 'f32' | 'f16' | 'q8' | 'q4' | 'mixed' | 'native' | undefined;
  /**
   * How many pieces of the vocabulary to keep: special tokens, single characters and bytes, and the pieces that `corpus` uses most. The tokenizer and
   * the matrices over the vocabulary are rewritten, so that ids agree.
   */
  vocab?: number | undefined;
  /** Texts like those that the model will read; needed with `vocab`. */
  corpus?: TrainingTexts | undefined;
  /**
   * Texts like those that the model will read, some hundred. The model reads them, and its layers' matrices in 4 bits (`dtype: 'q4'` or `'mixed'`) are
   * rounded so that the layers' results for such texts change least. None of the texts is in the file.
   */
  calibrate?: readonly string[] | undefined;
  /** Numbers of the layers to keep, rising from 0 on. */
  layers?: readonly number[] | undefined;
  /** Components of the sentence vector to keep: the first ones (Matryoshka). The file embeds that wide by itself. */
  dim?: number | undefined;
}

/** What `packModel` wrote. */
export interface PackReport {
  /** Bytes of the packed file. */
  bytes: number;
  /** Bytes of the original's weight files. */
  original_bytes: number;
  /** The number of tensors in the file. */
  tensors: number;
  /** Layers, if they are numbered. */
  layers?: number;
  /** Pieces of the vocabulary, if it was cut. */
  vocab?: number;
  /** The share of the corpus's tokens that are still one piece, if the vocabulary was cut. */
  kept_tokens?: number;
  /** Numbers of a sentence vector, if it was cut. */
  dim?: number;
  /** The architecture's name in llama.cpp, which can read the file too; null: it cannot. */
  llama_cpp: string | null;
  /** Why llama.cpp cannot read it. */
  why_not?: string;
}

/** Two sentences, and how alike people found them. */
export interface ScoredPair {
  /** The first sentence. */
  sentence1: string;
  /** The second sentence. */
  sentence2: string;
  /** How alike people found the sentences. */
  score: number;
}

/** What packing costs: the result of `comparePacked`. */
export interface Comparison {
  /** The number of pairs that were compared. */
  pairs: number;
  /** Between the vectors of the same sentence in both models; of the components that both have. */
  cosine: { mean: number; worst: number };
  /** Rank correlation of each model's cosines with the scores. */
  spearman: { original: number; packed: number };
}
