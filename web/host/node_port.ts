import { parentPort, type Transferable } from 'node:worker_threads';
import type { WorkerPort } from './worker_port.js';

/** Of a worker thread of Node. */
export const nodePort = (): WorkerPort => ({
  post: (message, transfer = []) => parentPort?.postMessage(message, transfer as Transferable[]),
  onMessage: (listener) => parentPort?.on('message', listener),
});
