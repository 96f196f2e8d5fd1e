// A helper thread of a page.
import { runThread } from './thread_main.js';
import { pagePort } from './worker_port.js';

runThread(pagePort());
