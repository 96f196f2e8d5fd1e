// Loaded into a server by --import: on SIGUSR2 it writes to standard error how much memory the process holds after a garbage collection.
import { writeSync } from 'node:fs';

process.on('SIGUSR2', () => {
  // What a collection frees may only be seen by the next one.
  let rounds = 0;
  const collect = () => {
    globalThis.gc();
    if (++rounds < 8) return void setImmediate(collect);
    const { heapUsed, external } = process.memoryUsage();
    writeSync(2, `${JSON.stringify({ memory: heapUsed + external, resources: process.getActiveResourcesInfo().length })}\n`);
  };
  collect();
});
