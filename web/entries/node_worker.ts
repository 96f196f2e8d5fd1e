// A worker thread of Node that holds an engine.
import { serveEngine } from './engine_worker.js';
import { nodePort } from '../host/node_port.js';
import { usePlatform } from '../source/platform.js';
import { nodePlatform } from '../source/platform_node.js';
import { useWorkers } from '../host/workers.js';
import { nodeWorkers } from '../host/workers_node.js';

usePlatform(nodePlatform);
useWorkers(nodeWorkers);
serveEngine(nodePort());
