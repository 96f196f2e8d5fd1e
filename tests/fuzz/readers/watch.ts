// Ends the process if a reader does not return, because a hang reports nothing.
import { Worker } from 'node:worker_threads';

const kWorker = `
const { workerData: { shared, ms } } = require('node:worker_threads');
const counter = new Int32Array(shared, 0, 1);
for (;;) {
  const before = Atomics.load(counter, 0);
  if (Atomics.wait(counter, 0, before, ms) !== 'timed-out' || Atomics.load(counter, 0) !== before) continue;
  const about = Buffer.from(new Uint8Array(shared, 4)).toString().replace(/\\0+$/, '');
  require('node:fs').writeSync(2, 'it did not end in ' + ms + ' ms: ' + about + '\\n');
  process.kill(process.pid, 'SIGKILL');
}`;

/** Tells which input is read now; the process ends if it is told nothing for so long. */
export class Watch {
  private readonly shared = new SharedArrayBuffer(4 + 400);
  private readonly counter = new Int32Array(this.shared, 0, 1);
  private readonly about = new Uint8Array(this.shared, 4);
  private readonly worker: Worker;

  constructor(ms: number) {
    this.worker = new Worker(kWorker, { eval: true, workerData: { shared: this.shared, ms } });
    this.worker.unref();
  }

  begins(about: string): void {
    this.about.fill(0);
    this.about.set(Buffer.from(about).subarray(0, this.about.length));
    Atomics.add(this.counter, 0, 1);
    Atomics.notify(this.counter, 0);
  }

  async end(): Promise<void> {
    await this.worker.terminate();
  }
}
