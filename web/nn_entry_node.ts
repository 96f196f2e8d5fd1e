// wattn/nn for Node: the same, reading its own file from disk.
import { usePlatform } from './platform.js';
import { nodePlatform } from './platform_node.js';

usePlatform(nodePlatform);

export * from './nn_entry.js';
