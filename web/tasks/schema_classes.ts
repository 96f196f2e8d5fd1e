// Classes of texts by a GLiNER2 model, which reads a schema of the labels before the text (the package gliner2, 2.1.0: processor.py, inference/runtime.py).
import { InputError } from '../core/errors.js';
import { jobPace, runJob } from '../engine/job.js';
import type { Context, TaskEngine } from '../engine/task.js';
import { jobEnd, type Facts } from './predict.js';
import type { ZeroShotExample, ZeroShotOptions } from './task_types.js';

const where = 'zero-shot-classification';
/** The name of a task that the caller does not name. */
const kTask = 'category';

/** The task with its examples, as the package writes them. */
function taskText({ prompt, examples = [] }: Pick<ZeroShotOptions, 'prompt' | 'examples'>): string {
  const exampleText = ({ text, labels }: ZeroShotExample) => ` [EXAMPLE] ${text} [OUTPUT] ${labels.join(', ')}`;
  return (prompt || kTask) + examples.map(exampleText).join('');
}

/** The logits of the labels for each text, and what is known of it. */
export async function classLogits(
  engine: TaskEngine,
  items: readonly string[],
  labels: readonly string[],
  options: Omit<ZeroShotOptions, 'signal'>,
  { first, signal }: Context,
): Promise<(Facts & { logits: Float32Array })[]> {
  for (const name of ['max_length', 'split_special_tokens'] as const) {
    if (options[name] === undefined) continue;
    throw new InputError(`${where}: option '${name}': expected another model than one of GLiNER2, which divides texts into words`);
  }
  const parts = { kinds: ['classes' as const], names: [taskText(options)], sizes: [labels.length] };
  const pace = jobPace();
  const inputs = items.map((text) => ({ text }));
  const out: (Facts & { logits: Float32Array })[] = [];
  while (out.length < items.length) {
    const begin = out.length;
    const slice = items.slice(begin, jobEnd(inputs, begin));
    const answer = await runJob(engine, pace, signal, (handle, steps) =>
      handle.find_spans(slice, labels, { ...parts, first_text: first + begin }, steps),
    );
    slice.forEach((_, i) => {
      const truncated = answer.truncated[i] === 1;
      if (truncated && options.on_overflow === 'error')
        throw new InputError(`text ${first + begin + i}: expected a text that the model reads at once (on_overflow is 'error')`);
      const logits = answer.logits.slice(i * labels.length, (i + 1) * labels.length);
      out.push({ logits, truncated, unknown: answer.unknown[i] as number });
    });
  }
  return out;
}
