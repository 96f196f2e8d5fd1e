import type { Files, Random } from './mutator.js';

/** A reader of files, and files that it takes. */
export interface Target {
  name: string;
  /** Sets of files. */
  seeds: Files[];
  /** Which files are damaged; all if undefined. */
  only?: RegExp;
  /** How they are damaged, if not as any files. */
  damage?: (files: Files, random: Random) => Files | Promise<Files>;
  /** Ends in any way but an untyped error. */
  read: (files: Files) => unknown;
  /** How often it is chosen, compared with others. Default 10. */
  weight?: number;
}
