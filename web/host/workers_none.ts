// Used instead of workers.ts in wattn/tokenizer, which is small and has no script for workers.
import { UnsupportedError } from '../core/errors.js';
import type { Workers } from './worker_port.js';

const none = "there are no workers in wattn/tokenizer: import AutoTokenizer from 'wattn'";

export const workers: Workers = {
  none,
  start() {
    throw new UnsupportedError(`worker: ${none}`);
  },
  threads: () => ({ cores: 1, obstacle: none }),
};
