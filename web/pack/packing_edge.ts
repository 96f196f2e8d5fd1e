// In place of packing.ts on the edge.
import { UnsupportedError } from '../core/errors.js';

throw new UnsupportedError('pack: the edge build cannot pack: pack in Node, Deno or a page, and upload the file');
