// A helper thread in Node.
import { nodePort } from '../host/node_port.js';
import { runThread } from '../host/thread_main.js';

runThread(nodePort());
