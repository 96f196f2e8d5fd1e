// wattn for Node: everything that index.ts has, reading paths and its own files from disk.
import { usePlatform } from '../source/platform.js';
import { nodePlatform } from '../source/platform_node.js';
import { useWorkers } from '../host/workers.js';
import { nodeWorkers } from '../host/workers_node.js';

usePlatform(nodePlatform);
useWorkers(nodeWorkers);

export * from './index.js';

// For cli.ts alone, which shares this file with the programs that import it.
export { isHubId } from '../source/model_source.js';
