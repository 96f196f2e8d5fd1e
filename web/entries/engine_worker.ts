// The worker's side of worker mode: one engine, asked by messages (remote_engine.ts has the other side).
import { Engine } from '../engine/engine.js';
import { WattnError } from '../core/errors.js';
import { env } from '../core/env.js';
import { runForward } from '../tasks/model.js';
import type { AbortSignalLike } from '../core/types.js';
import type { ModelOutput } from '../engine/types.js';
import { runTask, useTasks } from '../engine/task.js';
import type { Failure, Request } from '../engine/worker_protocol.js';
import { loadTask } from '../tasks/tasks.js';
import type { Tensor } from '../core/tensor.js';
import { wasmFiles } from '../host/wasm_files.js';
import { useWasm } from '../host/wasm_loader.js';
import type { WorkerPort } from '../host/worker_port.js';

useWasm(wasmFiles);
useTasks(loadTask);

/** Of a load or a forward pass; an embedding call is cut small enough without. */
interface Abortion {
  abort: number;
  reason: string;
}

const toFailure = (error: unknown): Failure => {
  const { name, message, url, status } = error as Failure;
  return error instanceof WattnError ? { name, message, url, status } : { name: 'StateError', message: String(message ?? error) };
};

function tensorsOf(output: ModelOutput): Tensor[] {
  const { logit_lens: lens, ...rest } = output;
  return [...Object.values(rest).flat(), ...(lens ? [lens.ids, lens.logits] : [])];
}

export function serveEngine(port: WorkerPort): void {
  const aborts = new Map<number, AbortController>();
  let engine: Engine | undefined;

  async function answer(id: number, request: Request, signal: AbortSignalLike): Promise<[unknown, ArrayBuffer[]]> {
    if (request.type === 'load') {
      Object.assign(env, request.env);
      const progress_callback = request.progress ? (info: unknown) => port.post({ id, progress: info }) : undefined;
      const options = { ...request.options, progress_callback, signal };
      engine = await Engine.load(request.where, request.model, options, request.head);
      await engine.helped; // info crosses once
      return [{ info: engine.info, memory: engine.memory, files: engine.files }, []];
    }
    if (request.type === 'embed') {
      const result = await (engine as Engine).embed(request.texts, request.options, signal);
      return [result, [result.data.buffer as ArrayBuffer, result.tokens.buffer as ArrayBuffer]];
    }
    if (request.type === 'task') {
      const { task, items, options, first, pieces } = request;
      const onPiece = pieces ? (piece: unknown) => port.post({ id, progress: piece }) : undefined;
      return [await runTask(engine as Engine, task, items, options, { first, signal, onPiece }), []];
    }
    if (request.type === 'warmup') return [await (engine as Engine).warmup(), []];
    const output = await runForward(engine as Engine, request.inputs, { ...request.options, signal });
    return [output, tensorsOf(output).map((tensor) => tensor.data.buffer as ArrayBuffer)];
  }

  port.onMessage((message: { id: number; request: Request } | Abortion) => {
    if ('abort' in message) return aborts.get(message.abort)?.abort(new Error(message.reason));
    const { id, request } = message;
    const controller = new AbortController();
    aborts.set(id, controller);
    answer(id, request, controller.signal)
      .then(
        ([result, transfer]) => port.post({ id, result }, transfer),
        (error) => port.post({ id, failure: toFailure(error) }),
      )
      .finally(() => aborts.delete(id));
  });
}
