// wattn for Node: everything that index.ts has, reading paths and its own files from disk.
import { usePlatform } from './platform.js';
import { nodePlatform } from './platform_node.js';
import { useWorkers } from './workers.js';
import { nodeWorkers } from './workers_node.js';

usePlatform(nodePlatform);
useWorkers(nodeWorkers);

export * from './index.js';

// For cli.ts alone, which shares this file with the programs that import it.
export { isHubId } from './model_source.js';
