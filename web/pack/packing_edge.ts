// In place of packing.ts on the edge.
import { UnsupportedError } from '../core/errors.js';

throw new UnsupportedError(
  "pack: packing is not part of the edge's build, whose every byte is uploaded: pack in Node, Deno or a page, and upload the file",
);
