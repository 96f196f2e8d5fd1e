// wattn/nn for Node: the same, reading its own file from disk.
import { usePlatform } from '../source/platform.js';
import { nodePlatform } from '../source/platform_node.js';

usePlatform(nodePlatform);

export * from './nn_entry.js';
