import { shared } from './shared.js';
import type { Env } from './types.js';

declare const __WATTN_VERSION__: string; // of package.json

/** Global settings. They are read at each load. */
export const env: Env = (shared.env ??= {
  remoteHost: 'https://huggingface.co',
  remotePathTemplate: '{model}/resolve/{revision}/',
  resolveOriginal: true,
  allowRemoteModels: true,
  fetch: undefined,
  useCache: true,
  cacheDir: undefined,
  wasm: {},
  compat: false,
  allowLocalModels: true,
  localModelPath: undefined,
  useBrowserCache: true,
  useFSCache: true,
  useFS: true,
  useWasmCache: true,
  logLevel: 30,
  version: __WATTN_VERSION__,
  useCustomCache: false,
  customCache: undefined,
  backends: { onnx: { wasm: {} } },
});
