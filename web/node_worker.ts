// A worker thread of Node that holds an engine.
import { serveEngine } from './engine_worker.js';
import { nodePort } from './node_port.js';
import { usePlatform } from './platform.js';
import { nodePlatform } from './platform_node.js';
import { useWorkers } from './workers.js';
import { nodeWorkers } from './workers_node.js';

usePlatform(nodePlatform);
useWorkers(nodeWorkers);
serveEngine(nodePort());
