// Public types of where models come from.
import type { AbortSignalLike, FileBytes, FileLike, UrlLike } from '../core/types.js';

/**
 * Where a model is. Decided by its form alone, never by looking what is there:
 * - a string `org/name` or `name`: a hub id, fetched from `env.remoteHost`;
 * - a string beginning with `http:` or `https:`, or a `URL`: the URL of a directory;
 * - a string beginning with `.`, `/`, `file:` or a drive letter, or with two slashes or more, or one at its end: in Node the
 *   path of a directory; in a page a URL relative to the page (in a worker: to the worker's script);
 * - `File`s: a directory from a file picker or a drop (the directories that all have in common are stripped);
 * - a `Map` or an object of names (`'config.json'`, `'1_Pooling/config.json'`) to bytes or `Blob`s.
 */
export type ModelSpecifier =
  string | UrlLike | ArrayLike<FileLike> | ReadonlyMap<string, FileBytes> | { readonly [name: string]: FileBytes };

/** `'progress'` speaks of all files together: `loaded` never falls, `total` is known from the first such event on and stays. */
export type ProgressInfo =
  | {
      status: 'initiate' | 'done';
      /** The model, as it was named. */
      name: string;
      /** The file that is begun or complete, named inside the model. */
      file: string;
    }
  | {
      status: 'progress';
      name: string;
      /** The file whose bytes came last. */
      file: string;
      /** `'download'` from a network, `'read'` from a disk or from memory. */
      phase: 'download' | 'read';
      /** Bytes that came so far, over all files. */
      loaded: number;
      /** Bytes of all files. */
      total: number;
      /** 100 * loaded / total. */
      progress: number;
    }
  | { status: 'ready'; name: string };

/** What loading anything can be told. */
export interface SourceOptions {
  /** Called while files arrive. What it throws ends the loading. */
  progress_callback?: ((info: ProgressInfo) => void) | undefined;
  /** Ends the loading at once with an `AbortError`. */
  signal?: AbortSignalLike | undefined;
  /** Branch, tag or commit of a hub id. Default `'main'`; an `InputError` with any other kind of model. */
  revision?: string;
  /** `true`: an `InputError` for a model that would need the network; a hub id comes from the cache. Default `false`. */
  local_files_only?: boolean;
  /** Where downloads from hubs are kept. Default `env.cacheDir`. */
  cache_dir?: string;
}

/** A file of the cache. */
export interface CachedFile {
  /** The hub id. */
  model: string;
  file: string;
  url: string;
  bytes: number;
  /** `false`: loading was ended in the middle, and will go on there. */
  complete: boolean;
}
