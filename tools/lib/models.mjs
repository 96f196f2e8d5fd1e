// The folder of real checkpoints that tests may use.
import { join } from 'node:path';
import { root } from './shell.mjs';

export const modelsDir = process.env.WATTN_MODELS_DIR ?? join(root, '.models');
