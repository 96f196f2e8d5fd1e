// Interfaces: sources of model files, stores of downloads, and platforms (a page or Node).

import type { AbortSignalLike } from '../core/types.js';
import type { OpenFile, PieceStore } from './open_file.js';

export type { OpenFile, PieceStore } from './open_file.js';

/** Weights are read from copies in the cache as dtype: 'q8' has them (held_copy.ts). makes: whether the load makes such copies, too. */
export interface Copies {
  makes: boolean;
  /** Only what loads models has it. */
  load(): Promise<typeof import('./held_copy.js')>;
}

/** How files are requested. timeout: see `SourceOptions`. token: for the hub's host; files of other hosts are requested without it. */
export interface Access {
  timeout?: number | undefined;
  token?(): string | undefined;
}

/** Routes of a Router by their names; undefined: there is none for that role. */
export interface Routes {
  own: string;
  query: string | undefined;
  document: string | undefined;
}

export interface ModelSource {
  /** The model as the user named it. */
  readonly name: string;
  readonly phase: 'download' | 'read';
  /** The repository that the caller named, which holds only ONNX: this is its original. */
  readonly replaces?: string;
  readonly copies?: Copies | undefined;
  /** The route that this is, and those of the two roles, for a model with a Router. */
  readonly routes?: Routes | undefined;
  /** undefined: no such file. file: a path inside the model, such as '1_Pooling/config.json'. */
  open(file: string, signal: AbortSignal): Promise<OpenFile | undefined>;
  /** Size of a file in bytes, without reading it; undefined if unknown. */
  size(file: string, signal: AbortSignal): Promise<number | undefined>;
  /** Where a file is looked for, for messages. */
  place(file: string): string;
  /** Where the repository of this id may be: on the same hub, or in a folder near this one. Absent: nowhere. */
  others?(id: string): ModelSource[];
  /** The addresses of files in the cache, of all models. Absent: there is no cache. */
  kept?(): Promise<string[]>;
  /** The loader accepted all files that it read. */
  accepted?(): Promise<void>;
  /** The load ended with this error. true: it refused files that came from a cache, and opening them again requests them anew. */
  refused?(error: unknown): Promise<boolean>;
}

/** A hub's repository, asked without reading it. */
export interface Hub {
  head(file: string, signal: AbortSignal): Promise<{ commit: string | null } | undefined>;
}

/** A file that another program downloaded; null: the repository has none. undefined: it cannot be said. */
export type CopiedFile = (file: string, signal: AbortSignalLike) => Promise<OpenFile | null | undefined>;

export interface Platform {
  /** A local model: a path in Node, a URL relative to the page in a page. local: no network. */
  openPlace(place: string, local: boolean, access: Access): ModelSource;
  /** Reads a file: URL; undefined if such URLs are fetched like others. */
  readFileUrl?(url: URL): Promise<Uint8Array>;
  /** The URL of a file of the package, which url() makes in the one form that bundlers recognise. */
  ownFile(file: string, url: () => URL): URL;
  /** The store of downloads; undefined if nothing can be stored. name: see `Env.cacheDir`. */
  store(name: string | undefined): PieceStore | undefined;
  /** The token of the user's environment for this hub; undefined: none. */
  hubToken?(host: string): string | undefined;
  /** What reads the repository from the cache of Python's huggingface_hub. undefined: it is not there. hub: to ask whether that is current. */
  pythonCopy?(id: string, revision: string, hub: Hub, offline: boolean): CopiedFile | undefined;
  /** The end of a message for a folder that was written as a hub id; empty if there is no such folder. */
  folderHint?(name: string): string;
  /** The URL of a file of an installed package, `name/file`; undefined if it is not installed, or cannot be found from here. */
  installed(file: string): string | undefined;
  /** Writes files into a folder, which is made if need be; undefined: there are no folders. */
  writeFiles?(folder: string, files: readonly (readonly [name: string, bytes: Uint8Array])[]): Promise<void>;
  /** The package @huggingface/jinja; undefined where it cannot be loaded at once. */
  jinja?(): unknown;
  /** A SHA-256 of chunks that is faster than sha256.ts. */
  sha256?(): { update(chunk: Uint8Array): void; hex(): string };
  /** The base of relative URLs; undefined if there is none. */
  base(): string | undefined;
}
