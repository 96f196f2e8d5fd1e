import type { Env } from './types.js';

/** Global settings, read whenever something is loaded. */
export const env: Env = {
  remoteHost: 'https://huggingface.co',
  remotePathTemplate: '{model}/resolve/{revision}/',
  resolveOriginal: false,
  allowRemoteModels: true,
  fetch: undefined,
  useCache: true,
  cacheDir: undefined,
  wasm: {},
};
