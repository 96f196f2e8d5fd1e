// Finds the folder of real checkpoints for tests.
import { join } from 'node:path';
import { root } from './shell.mjs';

export const modelsDir = process.env.WATTN_MODELS_DIR ?? join(root, '.models');
