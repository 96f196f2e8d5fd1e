// Beside the page: what trains or computes for long, and would block it. One worker does one task; the page ends it when it is no longer wanted. wattn is part of
// this script once, for all tasks.

import type { Finished } from './task.js';

const tasks = {
  place: async () => (await import('../map/map_task.js')).place,
  lesson: async () => (await import('../lessons/lesson_task.js')).lesson,
  words: async () => (await import('../words/words_task.js')).words,
  write: async () => (await import('../write/write_task.js')).write,
};

export type TaskName = keyof typeof tasks;

let finished: Finished<unknown, unknown, unknown> | undefined;

addEventListener('message', async ({ data }: MessageEvent<{ task: TaskName; options: never } | { question: unknown }>) => {
  try {
    if ('task' in data) {
      const run = await tasks[data.task]();
      finished = (await run(data.options, (progress) => postMessage({ progress }))) as typeof finished;
      postMessage({ result: finished?.first });
    } else {
      postMessage({ result: finished?.ask?.(data.question) });
    }
  } catch (error) {
    postMessage({ error: (error as Error).message });
  }
});
