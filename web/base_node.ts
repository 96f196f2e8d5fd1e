// The same for Node.
export * from './base.js';
export * from './platform_node.js';
