// What crosses to the WebAssembly of nn (bindings/nn.cpp, word2vec.cpp, logistic.cpp).
import type { Answer } from './seam.js';
import type { SeamHost } from './seam_host.js';

/** graph: of a result. parameter: of its value, with no dims and data beside it. */
export interface SeamTensor {
  dims: Int32Array;
  data: Float32Array;
  graph?: number;
  parameter?: SeamParameter;
}
export type SeamOption = number | string | number[];
export type SeamOptions = [name: string, value: SeamOption][];
export type SeamTensors = ({ name: string } & SeamTensor)[];

export interface SeamRow {
  /** The module's name in the module that contains it. */
  name: string;
  /** The module's class, such as `'Linear'`. */
  type: string;
  /** Nesting depth; 0 is the module itself. */
  depth: number;
  input: Int32Array;
  output: Int32Array;
  kernel: Int32Array;
  /** Number of parameters, including those of inner modules. */
  parameters: number;
  /** Number of own parameters, without inner modules. */
  own_parameters: number;
  /** As torchinfo counts: parameters times the first dimension of the output; 0 for a layer with children. */
  mult_adds: number;
  /** Multiply-accumulate operations of all products inside, including children and attention. */
  macs: number;
  /** Whether the module has no children. */
  is_leaf: boolean;
  module: number; // the same in each row of a module
  tensor?: SeamTensor;
  weights?: SeamTensor;
}

export type OutputsAnswer = Answer & { output: SeamTensor; weights?: SeamTensor };

/** A parameter of a module, or a tensor of the caller's that has a gradient. */
export interface SeamParameter {
  make(tensor: SeamTensor): Answer;
  value(): Answer & { tensor: SeamTensor };
  set(tensor: SeamTensor): Answer;
  grad(): Answer & { tensor?: SeamTensor };
  set_grad(tensor: SeamTensor | null): Answer;
  version(): number; // changes with the value
  requires_grad(): boolean;
  set_requires_grad(yes: boolean): void;
  track(): void; // requires a gradient, unless that was decided before
  delete(): void;
}

export interface SeamOptimizer {
  make(kind: string): Answer;
  add_group(parameters: SeamParameter[], options: SeamOptions): Answer;
  step(groups: SeamOptions[]): Answer;
  state(): Answer & { state: SeamTensor[][] };
  load(state: SeamTensor[][]): Answer;
  delete(): void;
}

export interface SeamNnModule {
  make(type: string, options: SeamOptions, parts: SeamNnModule[]): Answer;
  forward(tensors: SeamTensors, options: SeamOptions, cache: SeamCache | null, seed: number): OutputsAnswer;
  trace(
    tensors: SeamTensors,
    options: SeamOptions,
    cache: SeamCache | null,
    seed: number,
    keep: boolean,
  ): OutputsAnswer & { rows: SeamRow[] };
  state(
    values: boolean,
  ): Answer & { names: string[]; tensors: (SeamTensor | Int32Array)[]; buffers: number[]; frozen: number[]; identities: number[] };
  parameters(): Answer & { parameters: SeamParameter[] };
  train(yes: boolean): void;
  training(): boolean;
  draws(): boolean; // it or a part of it is in train mode
  pause(): void; // evaluation mode, until resume()
  resume(): void;
  load(name: string, tensor: SeamTensor): Answer;
  draw(seed: number): Answer;
  generate(ids: Int32Array, source: SeamTensor | null, options: SeamOptions): Answer & { ids: Int32Array };
  delete(): void;
}
export interface SeamCache {
  length(): number;
  delete(): void;
}

export interface SeamWord2Vec {
  make(options: object, counts: Float64Array): Answer;
  feed(words: Int32Array, lengths: Int32Array): Answer;
  step(): Answer & { more: boolean; done: number; total: number };
  vectors(): Answer & { vectors: Float32Array };
  delete(): void;
}

/** parameters: [dim + 1, labels], the last row of biases. */
export interface SeamLogistic {
  make(vectors: Float32Array, labels: Int32Array, num_labels: number): Answer;
  begin(weights: Float64Array, c: number, start: Float64Array | null): Answer;
  step(tolerance: number): Answer & { more: boolean; loss: number; iterations: number };
  parameters(): Answer & { parameters: Float64Array };
  logits(begin: number): Answer & { logits: Float32Array };
  delete(): void;
}
export interface SeamCalibration {
  make(logits: Float32Array, labels: Int32Array): Answer;
  step(): Answer & { more: boolean; temperature: number; loss: number };
  delete(): void;
}

export interface NnSeam {
  call_function(name: string, tensors: SeamTensors, options: SeamOptions): OutputsAnswer;
  backward(tensor: SeamTensor, gradient: SeamTensor | null, retain_graph: boolean): Answer;
  release_graph(graph: number): void;
  retain_grad(graph: number): void;
  retained_grad(graph: number): Answer & { grad?: Float32Array };
  set_grad_enabled(yes: boolean): boolean; // returns what it was
  clip_grad_norm(parameters: SeamParameter[], max_norm: number): Answer & { norm: number };
  schedule_factor(name: string, step: number, warmup_steps: number, training_steps: number): number;
  Parameter: new () => SeamParameter;
  Optimizer: new () => SeamOptimizer;
  Module: new () => SeamNnModule;
  Cache: new () => SeamCache;
  Word2Vec: new () => SeamWord2Vec;
  Logistic: new () => SeamLogistic;
  Calibration: new () => SeamCalibration;
  build_id(): string;
  delete?(): void; // absent: the module is no handle and ends with its instance
}

export type NnHost = SeamHost<NnSeam>;
