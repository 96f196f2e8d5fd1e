// What crosses to the WebAssembly that trains loaded models (bindings/train.cpp), in the terms of the Trainer.
import type {
  Answer,
  EvaluateAnswer,
  LearnedAnswer,
  StateAnswer,
  TensorsAnswer,
  TrainBegunAnswer,
  TrainOutputsAnswer,
  TrainPlanAnswer,
  UpdateAnswer,
  WordsAnswer,
} from '../host/seam.js';

type Said<A extends Answer> = Omit<A, keyof Answer>;

export interface SeamNamedTensor {
  name: string;
  dims: number[];
  data: Float32Array;
}

export type SeamBegun = Said<TrainBegunAnswer>;
export type SeamPlan = Said<TrainPlanAnswer>;
export type SeamStep = Said<UpdateAnswer>;
/** What a loss reads: `[rows, width]`, and the labels of rows that are tokens. */
export type SeamOutputs = Said<TrainOutputsAnswer>;
export type SeamWords = Said<WordsAnswer>;
export type SeamLearned = Said<LearnedAnswer>;
export type SeamEvaluation = Said<EvaluateAnswer>;
export type SeamState = Said<StateAnswer>;

/** Rows as they cross. */
export type SeamRows = [
  texts: readonly string[],
  pairs: readonly string[] | null,
  labels: readonly number[],
  scores: readonly number[],
  isRendered: boolean,
];

export const toTensors = ({ names, shapes, values }: TensorsAnswer): SeamNamedTensor[] =>
  names.map((name, i) => ({ name, dims: Array.from(shapes[i] as Int32Array), data: values[i] as Float32Array }));
