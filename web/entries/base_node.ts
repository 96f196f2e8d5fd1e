// The same for Node.
export * from './base.js';
export * from '../source/platform_node.js';
