// Loaded into a server by --import: at SIGUSR2 it says, on standard error, what the process holds once its garbage has been collected.
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
