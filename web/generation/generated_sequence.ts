// A sequence that was generated, as it crosses.
import type { SeamSequence } from '../host/seam.js';
import type { SeenRows } from './rows/types.js';

export interface GeneratedSequence extends SeamSequence, SeenRows {}
