// In place of distillation.ts on the edge.
import { UnsupportedError } from '../core/errors.js';

throw new UnsupportedError(
  "distill: distilling is not part of the edge's build, whose every byte is uploaded: distil in Node, Deno or a page, and upload the files",
);
