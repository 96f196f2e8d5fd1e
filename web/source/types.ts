// Public types for the sources of models.
import type { AbortSignalLike, FileBytes, FileLike, UrlLike } from '../core/types.js';

/**
 * Where a model is. The form of the argument alone decides:
 * - a string `org/name` or `name`: a hub id, fetched from `env.remoteHost`;
 * - a string `org/name:Q4_K_M`, or `org/name-GGUF`: a file of such a repository of GGUF files, the one with that in its name; without it Q4_K_M, else Q8_0;
 * - `'wattn-base'`, `'wattn-large'`, `'wattn-multi'`, `'wattn-story'`, `'wattn-pii'`: the model of the package with that name, if it is installed (in a page: if its import map knows it);
 * - a string beginning with `http:` or `https:`, or a `URL`: the URL of a directory;
 * - a string that begins with `.`, `/`, `file:` or a drive letter, contains two or more slashes, or ends with one. In Node it is the path
 *   of a directory, in a page a URL relative to the page (in a worker: to the worker's script);
 * - `File`s: a directory from a file picker or drag and drop (their common parent directories are stripped);
 * - a `Map` or an object from names (`'config.json'`, `'1_Pooling/config.json'`) to bytes or `Blob`s.
 *
 * A path, URL or name that ends in `.gguf` is that one file. Its header, and any file that is not weights, may have up to 128 MiB.
 */
export type ModelSpecifier =
  string | UrlLike | ArrayLike<FileLike> | ReadonlyMap<string, FileBytes> | { readonly [name: string]: FileBytes };

/**
 * `'progress'` events count all files together. `loaded` never decreases, and `total` is the same in all of them, unless a cached file was refused
 * and the server now has one of another size.
 */
export type ProgressInfo =
  | {
      /** A file is about to be read, its bytes begin to arrive, or it is complete. */
      status: 'initiate' | 'download' | 'done';
      /** The model as the caller named it. */
      name: string;
      /** The file's path inside the model. */
      file: string;
    }
  | {
      status: 'progress';
      name: string;
      /** The file whose bytes arrived last. */
      file: string;
      /** `'download'` from a network, `'read'` from a disk or from memory. */
      phase: 'download' | 'read';
      /** Bytes so far, of all files. */
      loaded: number;
      /** Bytes of all files. */
      total: number;
      /** 100 * loaded / total. */
      progress: number;
    }
  | {
      /** As `'progress'`, after each of them, with what has arrived of each file. */
      status: 'progress_total';
      name: string;
      loaded: number;
      total: number;
      progress: number;
      /** Bytes of each file so far and in all; `total` is `loaded` while a file's size is unknown. */
      files: { [file: string]: { loaded: number; total: number } };
    }
  | {
      /** Unless `env.resolveOriginal` is `false`: `name` holds only ONNX, and `original` is loaded in its place. Later events name that. */
      status: 'original';
      name: string;
      /** The repository that is loaded. */
      original: string;
    }
  | {
      /** The model lacks files that its library takes from the repository `base`, and so are they here: GLiNER's tokenizer. */
      status: 'base';
      name: string;
      /** The repository that has the missing files. */
      base: string;
    }
  | {
      /** Everything is loaded. */
      status: 'ready';
      name: string;
      /** The same as `name`. */
      model: string;
      /** The task of the pipeline. */
      task?: string;
    };

/** Options of everything that loads files. */
export interface SourceOptions {
  /** Called while files arrive. An exception from it ends the loading. */
  progress_callback?: ((info: ProgressInfo) => void) | undefined;
  /** Ends the loading at once with an `AbortError`. */
  signal?: AbortSignalLike | undefined;
  /**
   * The longest time without a byte from the server, in milliseconds, before a request or the rest of a download is tried again. After a few
   * tries it is a `NetworkError`. Default 30000; 0: no limit. It does not limit a whole download: use `signal: AbortSignal.timeout(ms)`.
   */
  timeout?: number;
  /** Branch, tag or commit of a hub id. Default `'main'`. An `InputError` with any other kind of model. */
  revision?: string;
  /**
   * A token of the hub, for private and gated repositories; `''`: none. Sent to the hub's host (`env.remoteHost`) only, also when that redirects to
   * another one; never cached, and never part of a message. Default: in Node `HF_TOKEN` of the environment, for `HF_ENDPOINT`; in a page none.
   */
  token?: string;
  /** `true`: hub ids are read from the cache, and a model that needs the network is an `InputError`. Default `false`. */
  local_files_only?: boolean;
  /** Where downloads from hubs are cached. Default `env.cacheDir`. */
  cache_dir?: string;
}

/** A cached file. */
export interface CachedFile {
  /** The hub id. */
  model: string;
  /** Its path in the repository, such as `'model.safetensors'`. */
  file: string;
  /** The address that it came from. */
  url: string;
  /** How much of it is in the cache. */
  bytes: number;
  /** `'q8'`: a copy of the weights as a load with this data type has them; other loads do not read it. */
  dtype?: string;
  /** `false`: the download was interrupted and will resume there, or no load has accepted the file yet. */
  complete: boolean;
}
