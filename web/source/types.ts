// Public types for the sources of models.
import type { AbortSignalLike, FileBytes, FileLike, UrlLike } from '../core/types.js';

/**
 * The location of a model. Its form determines what it means:
 * - a string `org/name` or `name`: a Hub id, fetched from `env.remoteHost`;
 * - a string `org/name:Q4_K_M`, or `org/name-GGUF`: a file of a repository of GGUF files, the one with this in its name; by default Q4_K_M, else Q8_0;
 * - `'wattn-base'`, `'wattn-large'`, `'wattn-multi'`, `'wattn-story'`, `'wattn-pii'`: the model in the installed package of that name (in a page: if the
 *   import map contains it);
 * - a string beginning with `http:` or `https:`, or a `URL`: the URL of a directory;
 * - a string that begins with `.`, `/`, `file:` or a drive letter, contains two or more slashes, or ends with one. In Node it is the path of a
 *   directory, in a page a URL relative to the page (in a worker: to the worker's script);
 * - `File`s: a directory from a file picker or drag and drop (their common parent directories are stripped);
 * - a `Map` or an object from names (`'config.json'`, `'1_Pooling/config.json'`) to bytes or `Blob`s.
 *
 * A path, URL or name that ends in `.gguf` is a single file. Its header, and any file other than weights, may have up to 128 MiB.
 */
export type ModelSpecifier =
  string | UrlLike | ArrayLike<FileLike> | ReadonlyMap<string, FileBytes> | { readonly [name: string]: FileBytes };

/**
 * Events of loading. `'progress'` events count all files together. `loaded` never decreases, and `total` stays the same, unless a cached file was
 * rejected and the server's file now has another size.
 */
export type ProgressInfo =
  | {
      /** A file is about to be read, its bytes start to arrive, or it is complete. */
      status: 'initiate' | 'download' | 'done';
      /** The model, as the caller named it. */
      name: string;
      /** The file's path within the model. */
      file: string;
    }
  | {
      status: 'progress';
      name: string;
      /** The file whose bytes arrived last. */
      file: string;
      /** `'download'`: from a network; `'read'`: from a disk or memory. */
      phase: 'download' | 'read';
      /** Bytes of all files so far. */
      loaded: number;
      /** Total bytes of all files. */
      total: number;
      /** 100 * loaded / total. */
      progress: number;
    }
  | {
      /** Sent after each `'progress'` event, with the progress of each file. */
      status: 'progress_total';
      name: string;
      loaded: number;
      total: number;
      progress: number;
      /** Bytes of each file so far and in total. `total` equals `loaded` while a file's size is unknown. */
      files: { [file: string]: { loaded: number; total: number } };
    }
  | {
      /** `name` has only ONNX files, so `original` is loaded instead (unless `env.resolveOriginal` is `false`). Later events name the original. */
      status: 'original';
      name: string;
      /** The repository that is loaded. */
      original: string;
    }
  | {
      /** Missing files are loaded from the repository `base`, as the model's own library does: GLiNER's tokenizer. */
      status: 'base';
      name: string;
      /** The repository that contains the missing files. */
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

/** Options of every function that loads files. */
export interface SourceOptions {
  /** Called while files arrive. An exception from it cancels loading. */
  progress_callback?: ((info: ProgressInfo) => void) | undefined;
  /** Cancels loading immediately, with an `AbortError`. */
  signal?: AbortSignalLike | undefined;
  /**
   * Milliseconds without a byte from the server before a request, or the rest of a download, is retried. After a few retries it throws a `NetworkError`.
   * Default 30000; 0: no limit. To limit a whole download, use `signal: AbortSignal.timeout(ms)`.
   */
  timeout?: number;
  /** Branch, tag or commit of a Hub id. Default `'main'`. Any other type of model throws an `InputError`. */
  revision?: string;
  /**
   * Access token of the Hub, for private and gated repositories; `''`: none. It is sent only to the Hub's host (`env.remoteHost`), not to hosts that it
   * redirects to. It is never cached, and never part of a message. Default: in Node the environment variable `HF_TOKEN`, for `HF_ENDPOINT`; in a page
   * none.
   */
  token?: string;
  /** `true`: reads Hub ids only from the cache; a model that needs the network throws an `InputError`. Default `false`. */
  local_files_only?: boolean;
  /** Where downloads from the Hub are cached. Default: `env.cacheDir`. */
  cache_dir?: string;
}

/** A cached file. */
export interface CachedFile {
  /** The Hub id. */
  model: string;
  /** The file's path in the repository, such as `'model.safetensors'`. */
  file: string;
  /** The URL that it was downloaded from. */
  url: string;
  /** Bytes in the cache. */
  bytes: number;
  /** `'q8'`: a converted copy of the weights, which only loads with this data type use. */
  dtype?: string;
  /** `false`: the download was interrupted and will resume, or no load has accepted the file yet. */
  complete: boolean;
}
