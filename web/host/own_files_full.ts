// In place of own_files.ts in the worker that trains.
import type { SeamModule } from './seam.js';
import { fullFiles } from './wasm_files.js';
import { useWasm, type WasmFiles } from './wasm_loader.js';

export const ownFiles = useWasm(fullFiles as WasmFiles<SeamModule>);
