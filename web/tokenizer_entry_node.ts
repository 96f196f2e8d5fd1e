// wattn/tokenizer for Node: the same, reading paths and its own file from disk.
import { usePlatform } from './platform.js';
import { nodePlatform } from './platform_node.js';

usePlatform(nodePlatform);

export * from './tokenizer_entry.js';
