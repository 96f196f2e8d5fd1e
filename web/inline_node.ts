// wattn/inline for Node: the same, reading paths from disk.
import { usePlatform } from './platform.js';
import { nodePlatform } from './platform_node.js';
import { useWorkers } from './workers.js';
import { nodeWorkers } from './workers_node.js';

usePlatform(nodePlatform);
useWorkers(nodeWorkers);

export * from './inline.js';
