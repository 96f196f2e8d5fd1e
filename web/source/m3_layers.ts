// The layers of bge-m3 beside its encoder: of sparse vectors, and of those of tokens.
import type { NamedBytes } from './model_files.js';

export const kM3Layers = ['sparse_linear', 'colbert_linear'] as const;

/** Whether a model, by its files, has all three kinds of vectors. */
export const hasM3 = (files: readonly NamedBytes[]): boolean => files.some(([name]) => name === `${kM3Layers[0]}/config.json`);
