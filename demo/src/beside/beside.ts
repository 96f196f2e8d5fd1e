// The page's side of beside_worker.ts.
import type { TaskName } from './beside_worker.js';

export interface Beside<First, Question, Answer> {
  /** What the task had to say when it was done. Never settles after `stop()`. */
  done: Promise<First>;
  /** Only after `done`. */
  ask(question: Question): Promise<Answer>;
  stop(): void;
}

type Said = { progress: unknown } | { result: unknown } | { error: string };

/** Starts a task in a worker of its own. */
export function beside<First, Question = never, Answer = never>(
  task: TaskName,
  options: object,
  onProgress: (progress: never) => void = () => {},
): Beside<First, Question, Answer> {
  const worker = new Worker(new URL('./beside_worker.ts', import.meta.url), { type: 'module' });
  const waiting: { resolve: (value: never) => void; reject: (error: Error) => void }[] = [];
  const send = <T>(message: object) =>
    new Promise<T>((resolve, reject) => {
      waiting.push({ resolve, reject });
      worker.postMessage(message);
    });
  worker.onmessage = ({ data }: MessageEvent<Said>) => {
    if ('progress' in data) return onProgress(data.progress as never);
    const call = waiting.shift();
    if ('error' in data) call?.reject(new Error(data.error));
    else call?.resolve(data.result as never);
  };
  worker.onerror = (event) => waiting.shift()?.reject(new Error(event.message || 'The worker script did not load.'));
  return {
    done: send<First>({ task, options }),
    ask: (question) => send<Answer>({ question }),
    stop: () => worker.terminate(),
  };
}
