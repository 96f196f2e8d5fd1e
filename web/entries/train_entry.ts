/**
 * `Trainer`, which fine-tunes a loaded model.
 *
 * @module
 */
export * from './common.js';
export { Trainer } from '../train/trainer.js';
export type * from '../train/types.js';
