// In place of own_files.ts in the worker that trains.
import { fullFiles } from './wasm_files.js';
import { useWasm } from './wasm_loader.js';

export const ownFiles = useWasm(fullFiles);
