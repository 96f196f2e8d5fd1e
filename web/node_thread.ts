// A helper thread in Node.
import { nodePort } from './node_port.js';
import { runThread } from './thread_main.js';

runThread(nodePort());
