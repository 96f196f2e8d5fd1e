// Beside the page: trains the small model, then says what comes next.
import type { Finished, Report } from '../beside/task.js';
import { trainSmallModel } from './small_model.js';
import type { SmallOptions } from './small_model_text.js';

export interface Learned {
  vocabulary: string[];
  parameters: number;
}

export interface Step {
  done: number;
  of: number;
  loss: number;
}

export async function write(
  { text, ...options }: SmallOptions & { text: string },
  report: Report,
): Promise<Finished<Learned, number[], Float32Array[]>> {
  const model = await trainSmallModel(text, options, (done, loss) => report({ done, of: options.steps, loss } satisfies Step));
  return { first: { vocabulary: model.vocabulary, parameters: model.parameters }, ask: (ids) => model.next(ids) };
}
