// In place of distillation.ts on the edge.
import { UnsupportedError } from '../core/errors.js';

throw new UnsupportedError('distill: the edge build cannot distil: distil in Node, Deno or a page, and upload the files');
