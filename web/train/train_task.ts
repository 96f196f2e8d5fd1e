// The part of training that runs beside the engine, maybe in a worker: each request is a call into WebAssembly.
import { InputError } from '../core/errors.js';
import type { Task, TaskEngine } from '../engine/task.js';
import type { Answer, SeamTrainOptions, TensorsAnswer } from '../host/seam.js';
import type { NamedBytes } from '../source/model_files.js';
import {
  toTensors,
  type SeamBegun,
  type SeamEvaluation,
  type SeamNamedTensor,
  type SeamOutputs,
  type SeamPlan,
  type SeamRows,
  type SeamState,
  type SeamStep,
  type SeamWords,
} from './train_files.js';

/** What crosses for some rows: see TrainRows in src/tasks/train.h. */
export interface Rows {
  /** Column by column. */
  texts: string[];
  /** Second texts; none: empty. */
  pairs: string[];
  labels: number[];
  scores: number[];
  is_rendered: boolean;
}

/** Requests with their answers. */
export interface Requests {
  begin: [SeamTrainOptions, SeamBegun];
  /** parts: of an update. words: of the vocabulary, in all updates; 0: as many as in one. */
  plan: [{ tokens: number; max_seq: number; parts: number; words: number }, SeamPlan];
  /** How many words of the vocabulary occur. */
  words: [Rows, SeamWords];
  /** One update from the parts of a batch. */
  step: [Rows[], SeamStep];
  /** How much of an update each part is; together 1. */
  shares: [Rows[], { shares: number[] }];
  /** What a loss of one's own reads. isWhole: whether the update has no other part. learns: whether `gradient` follows. */
  outputs: [{ rows: Rows; isWhole: boolean; learns: boolean }, SeamOutputs];
  /** The gradient of those outputs and the loss, both times their share of the update. */
  gradient: [{ dValues: Float32Array; loss: number }, object];
  update: [undefined, SeamStep];
  /** What was accumulated is dropped. */
  drop: [undefined, object];
  /** The sum of a language model's losses over tokens, without learning. */
  evaluate: [Rows, SeamEvaluation];
  state: [undefined, SeamState];
  set_state: [{ state: Float32Array; step: number }, object];
  adapter: [undefined, { tensors: SeamNamedTensor[] }];
  checkpoint: [undefined, { tensors: SeamNamedTensor[] }];
}

/** Asks what trains, which may be in a worker. */
export type Ask = <Kind extends keyof Requests>(kind: Kind, value: Requests[Kind][0]) => Promise<Requests[Kind][1]>;

export type Request = { [Kind in keyof Requests]: { kind: Kind; value: Requests[Kind][0] } }[keyof Requests];

/** Replaces config.json, which says what the labels are, in the files of an engine. */
export function useConfig(files: NamedBytes[], config: string): void {
  const bytes = new TextEncoder().encode(config);
  const at = files.findIndex(([name]) => name === 'config.json');
  files.splice(at, 1, ['config.json', bytes]);
}

/** Rows as the seam takes them. */
const crossing = ({ texts, pairs, labels, scores, is_rendered }: Rows): SeamRows => [
  texts,
  pairs.length > 0 ? pairs : null,
  labels,
  scores,
  is_rendered,
];

/**
 * A part counts for what its loss is a mean over, so that one, two or three parts give the same gradient. A batch in which nothing is learned
 * keeps equal parts, of which the first one says what is missing.
 */
function sharesOf(parts: readonly Rows[], learnedOf: (rows: Rows) => number): number[] {
  if (parts.length === 1) return [1];
  const learned = parts.map(learnedOf);
  const all = learned.reduce((sum, count) => sum + count, 0);
  return learned.map((count) => (all > 0 ? count / all : 1 / parts.length));
}

function answerOf(engine: TaskEngine, request: Request): Answer {
  const call: TaskEngine['call'] = (run) => engine.call(run);
  const tensorsOf = (answer: TensorsAnswer) => ({ code: 0, message: '', tensors: toTensors(answer) }) as Answer;
  const learnedOf = (rows: Rows) => call((handle) => handle.train_count(...crossing(rows))).learned;
  switch (request.kind) {
    case 'begin': {
      const begun = call((handle) => handle.train_begin(request.value));
      const { head, config } = request.value;
      if (head) useConfig(engine.files as NamedBytes[], config);
      return begun;
    }
    case 'plan':
      return call((handle) => {
        const { tokens, max_seq, parts, words } = request.value;
        return handle.train_plan(tokens, max_seq, parts, words);
      });
    case 'words':
      return call((handle) => handle.train_words(...crossing(request.value)));
    case 'step':
      sharesOf(request.value, learnedOf).forEach((share, i) => {
        if (share > 0) call((handle) => handle.train_accumulate(...crossing(request.value[i] as Rows), share));
      });
      return call((handle) => handle.train_update());
    case 'shares':
      return { code: 0, message: '', shares: sharesOf(request.value, learnedOf) } as Answer;
    case 'outputs': {
      const { rows, isWhole, learns } = request.value;
      return call((handle) => handle.train_outputs(...crossing(rows), isWhole, learns));
    }
    case 'gradient':
      return call((handle) => handle.train_gradient(request.value.dValues, request.value.loss));
    case 'update':
      return call((handle) => handle.train_update());
    case 'drop':
      return call((handle) => handle.train_drop());
    case 'evaluate':
      return call((handle) => handle.train_evaluate(...crossing(request.value)));
    case 'state':
      return call((handle) => handle.train_state());
    case 'set_state':
      return call((handle) => handle.train_set_state(request.value.state, request.value.step));
    case 'adapter':
      return tensorsOf(call((handle) => handle.train_adapter()));
    case 'checkpoint':
      return tensorsOf(call((handle) => handle.checkpoint()));
  }
}

export const trainTask: Task<Request, object, Answer> = {
  head: 'none',
  prepare() {
    throw new InputError("pipeline: 'train' is not a pipeline task: use Trainer of wattn/train");
  },
  async run(engine, requests) {
    return requests.map((request) => answerOf(engine, request));
  },
};
