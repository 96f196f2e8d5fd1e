// wattn/tokenizer for Node: the same, reading paths and its own file from disk.
import { usePlatform } from '../source/platform.js';
import { nodePlatform } from '../source/platform_node.js';

usePlatform(nodePlatform);

export * from './tokenizer_entry.js';
