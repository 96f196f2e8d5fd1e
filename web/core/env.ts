import type { Env } from './types.js';

/** Settings of the whole library; read at each loading. */
export const env: Env = {
  remoteHost: 'https://huggingface.co',
  remotePathTemplate: '{model}/resolve/{revision}/',
  allowRemoteModels: true,
  fetch: undefined,
  useCache: true,
  cacheDir: undefined,
  wasm: {},
};
