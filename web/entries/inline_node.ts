// wattn/inline for Node: the same, reading paths from disk.
import { usePlatform } from '../source/platform.js';
import { nodePlatform } from '../source/platform_node.js';
import { useWorkers } from '../host/workers.js';
import { nodeWorkers } from '../host/workers_node.js';

usePlatform(nodePlatform);
useWorkers(nodeWorkers);

export * from './inline.js';
