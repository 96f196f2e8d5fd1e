// The gradient of an output with respect to the embeddings of one text, for attribute().
import { alone, type Task } from '../engine/task.js';
import type { Run } from './forward.js';

/** An output's gradient; empty: the metric does not read it. */
export interface OutputGradient {
  /** `[tokens, hidden]`, of last_hidden_state. */
  hidden: Float32Array;
  /** `[labels]`, of one row. */
  logits: Float32Array;
  /** That row, of a head over tokens. */
  token: number;
}

/** One text. */
export interface GradientItem extends Pick<Run, 'input_ids' | 'token_type_ids' | 'position_ids'>, OutputGradient {
  /** `[tokens, hidden]`, in place of the text's own. */
  embeddings: Float32Array;
}

export const inputGradient: Task<GradientItem, object, Float32Array> = {
  head: 'none',
  prepare: () => {
    throw new TypeError('input_gradient has no pipeline');
  },
  async run(engine, items) {
    const gradients: Float32Array[] = [];
    for (const { input_ids, token_type_ids, position_ids, embeddings, hidden, logits, token } of items) {
      const run = async () =>
        engine.call((handle) => handle.input_gradient(input_ids, token_type_ids, position_ids, embeddings, hidden, logits, token));
      gradients.push((await alone(engine, run)).gradient);
    }
    return gradients;
  },
};
