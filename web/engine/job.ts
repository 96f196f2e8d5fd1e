// Calls into WebAssembly that may take long: they run in steps of a micro-batch, a few at a time.
import { Pace } from '../core/signal.js';
import type { AbortSignalLike } from '../core/types.js';
import type { JobAnswer, SeamModel } from '../host/seam.js';
import type { TaskEngine } from './task.js';

/** The time of one crossing in ms, so that pages stay responsive and signals are noticed. */
const kCrossingMs = 100;
const kMostSteps = 256;

/** The pace of one call, which may run several jobs. */
export const jobPace = (): Pace => new Pace(kCrossingMs, 1, 1, kMostSteps);

/**
 * Runs a job to its end and returns its last answer. begin: starts it, with so many steps at once. look: receives every answer;
 * with it, each crossing takes one step. Steps of an engine with a GPU are the GPU's where it has them; gpu: null: none are.
 */
export async function runJob<A extends JobAnswer>(
  engine: Pick<TaskEngine, 'call' | 'isOpen' | 'gpu'>,
  pace: Pace,
  signal: AbortSignalLike | undefined,
  begin: (handle: SeamModel, steps: number) => A,
  look?: (answer: A) => void | Promise<void>,
  gpu: TaskEngine['gpu'] | null = engine.gpu,
): Promise<A> {
  const cross = async (call: (handle: SeamModel, steps: number) => A, most = look ? 1 : pace.count) => {
    const answer = pace.run(
      () => engine.call((handle) => call(handle, most)),
      ({ steps }) => steps,
    );
    return show(answer);
  };
  const show = async (answer: A) => {
    last = answer;
    await look?.(answer); // a reader of the answers may stop the call
    return answer;
  };
  let last: A | undefined;
  try {
    await pace.wait(signal);
    let answer = await cross(begin, gpu ? 0 : undefined);
    const { job } = answer;
    while (answer.more) {
      await pace.wait(signal);
      const there = await gpu?.step(job, signal);
      answer = there ? await show(there as A) : await cross((handle, steps) => handle.run(job, steps) as A);
    }
    return answer;
  } catch (error) {
    const { more = false, job = 0 } = last ?? {};
    if (more && engine.isOpen) engine.call((handle) => handle.cancel(job));
    throw error;
  }
}
