// A helper thread of a page.
import { runThread } from '../host/thread_main.js';
import { pagePort } from '../host/worker_port.js';

runThread(pagePort());
