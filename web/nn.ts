// nn: the building blocks, with torch.nn's names. `await nn.ready()` once; then everything is synchronous.
export { ready } from './nn_seam.js';
export * as functional from './nn_functional.js';
export * as positional from './nn_positional.js';
export { KeyValueCache, manual_seed, Module, type StateDict, type TraceRow } from './nn_module.js';
export * from './nn_modules.js';
export * from './nn_transformers.js';
export * from './nn_language.js';
export { summary, trace, type InputShape, type Summary, type SummaryColumn } from './nn_summary.js';
export { load_safetensors, save_safetensors } from './nn_safetensors.js';
export { Dictionary, type DictionaryOptions } from './nn_vocab.js';
export { equivariance, permutation, permute, type EquivarianceReport } from './nn_equivariance.js';
