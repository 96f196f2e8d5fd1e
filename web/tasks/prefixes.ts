// The inner tasks of prefixes: what a model keeps of its calls (src/engine/prefixes.h), saved, loaded and released beside the engine.
import { StateError } from '../core/errors.js';
import { ownCopy } from '../core/options.js';
import { jobPace, runJob } from '../engine/job.js';
import { alone, type Task } from '../engine/task.js';
import type { GenerationPlan } from '../generation/generation_config.js';
import type { PlainPrefix } from './prefix_files.js';
import { generateAll, notePrefixes, textOf, type Text } from './generate_all.js';

function prepare(): never {
  throw new StateError('prefixes: have no pipeline');
}

export const savePrefix: Task<Parameters<Text['encode']>[0], { add_special_tokens?: boolean }, PlainPrefix> = {
  head: 'causal_lm',
  prepare,
  async run(engine, items, options, context) {
    const text = textOf(engine);
    const out: PlainPrefix[] = [];
    for (const item of items) {
      const ids = text.encode(item, options);
      const plan: GenerationPlan = { seam: { max_new_tokens: 1 }, own: ownCopy({}), pauses: false, keeps: true };
      await generateAll(engine, undefined, [ids], plan, context);
      const save = async () => engine.call((handle) => handle.save_prefix(ids));
      out.push({ ids, bytes: (await alone(engine, save)).bytes });
    }
    return out;
  },
};

export const loadPrefix: Task<PlainPrefix, object, number> = {
  head: 'causal_lm',
  prepare,
  async run(engine, items, _options, { signal }) {
    const out: number[] = [];
    for (const { ids, bytes } of items) {
      const load = () => runJob(engine, jobPace(), signal, (handle, steps) => handle.load_prefix(ids, bytes, steps));
      const answer = await alone(engine, load);
      notePrefixes(engine, answer, 0, 0);
      out.push(answer.kept);
    }
    return out;
  },
};

/** Releases holds, by their numbers. */
export const releasePrefix: Task<number, object, null> = {
  head: 'causal_lm',
  prepare,
  async run(engine, items) {
    for (const number of items) if (engine.isOpen) engine.call((handle) => handle.release_prefix(number));
    return items.map(() => null);
  },
};
