/**
 * Building blocks of transformers, under torch.nn's names. Call `await nn.ready()` once; everything else is synchronous.
 *
 * @module
 */
export { ready } from '../host/nn_seam.js';
export * as functional from './functional.js';
export * as positional from './positional.js';
export { KeyValueCache, Module, type StateDict, type TraceRow } from './module.js';
export { manual_seed } from './seed.js';
export { no_grad, Parameter, Tensor } from './tensor.js';
export * from './functions.js';
export * from './losses.js';
export * as optim from './optim.js';
export { utils } from './optim.js';
export { Attending, type AttendOptions, type Weighed } from './attending.js';
export * from './modules.js';
export * from './transformers.js';
export * from './language.js';
export { summary, trace, type InputShape, type Summary, type SummaryColumn } from './summary.js';
export { load_safetensors, save_safetensors } from '../source/safetensors.js';
export { Dictionary, type DictionaryOptions } from './vocab.js';
export { equivariance, permutation, permute, type EquivarianceReport } from './equivariance.js';
