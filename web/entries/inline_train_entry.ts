/**
 * All of `wattn/inline`, with training of models and tokenizers and the rarer models inside.
 *
 * @module
 */
import { fullSimd, tokenizer } from '../host/inline_train_files.js';
import { shared } from '../core/shared.js';

export * from './page.js';
export * from './api.js';
export { Trainer } from '../train/trainer.js';
export type * from '../train/types.js';
export type { LabelledText, ScoredPair } from '../train/types.js'; // api.js has rows of these names, too

Object.assign((shared.embedded ??= {}), { 'full-simd': fullSimd, tokenizer });
