// A helper thread.
import { runThread } from '../host/thread_main.js';
import { ownPort } from '../host/workers.js';

runThread(ownPort());
