// A helper thread: makes its own instance over the engine's memory, reports that, and serves until it is terminated.
import type { HelperStart } from './threads.js';
import type { WorkerPort } from './worker_port.js';

interface ThreadExports {
  _emscripten_wasm_worker_initialize(stack: number, bytes: number): void;
  wattn_serve(team: number, thread: number): void;
}

async function serve({ module, memory, team, thread, stack, stackBytes }: HelperStart, port: WorkerPort): Promise<void> {
  const imports: Record<string, Record<string, unknown>> = {};
  for (const { module: from, name, kind } of WebAssembly.Module.imports(module)) {
    // Kernels import no functions. If one ever does, the engine must not continue with a partial result.
    const missing = () => {
      throw new Error(`a helper thread called ${name}`);
    };
    (imports[from] ??= {})[name] = kind === 'memory' ? memory : missing;
  }
  const instance = await WebAssembly.instantiate(module, imports as WebAssembly.Imports);
  const inside = instance.exports as unknown as ThreadExports;
  inside._emscripten_wasm_worker_initialize(stack, stackBytes);
  port.post('serving');
  inside.wattn_serve(team, thread);
}

export function runThread(port: WorkerPort): void {
  port.onMessage((start: HelperStart) => {
    serve(start, port).catch((error) => port.post(String((error as Error)?.message ?? error)));
  });
}
