import type { OutputPrecision } from './types.js';

/** How the numbers of an embedding may be given. */
export const kPrecisions: readonly OutputPrecision[] = ['float32', 'int8', 'uint8', 'binary', 'ubinary'];
