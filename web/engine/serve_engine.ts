// The worker's side of worker mode: one engine, or one tokenizer, used by messages (remote_engine.ts and batches.ts are the other sides).
import { WattnError } from '../core/errors.js';
import { env } from '../core/env.js';
import type { AbortSignalLike } from '../core/types.js';
import type { Failure } from '../host/worker_pool.js';
import type { WorkerPort } from '../host/worker_port.js';
import { BatchServer } from '../tokenizer/serve_batches.js';
import { Engine } from './engine.js';
import { runTask, useTasks, type TaskLoader } from './task.js';
import type { Request } from './worker_protocol.js';

/** Aborts a running request. */
interface Abortion {
  abort: number;
  reason: string;
}

const toFailure = (error: unknown): Failure => {
  const { name, message, url, status } = error as Failure;
  return error instanceof WattnError ? { name, message, url, status } : { name: 'StateError', message: String(message ?? error) };
};

/** The buffers of a task's results, which are transferred to the caller instead of copied. */
function buffersOf(value: unknown, found = new Set<ArrayBuffer>()): Set<ArrayBuffer> {
  if (ArrayBuffer.isView(value)) found.add(value.buffer as ArrayBuffer);
  else if (typeof value === 'object' && value !== null) for (const part of Object.values(value)) buffersOf(part, found);
  return found;
}

/** Answers the messages of remote_engine.ts with one engine. tasks: what it can be asked for. */
export function serveEngine(port: WorkerPort, tasks: TaskLoader): void {
  useTasks(tasks);
  const aborts = new Map<number, AbortController>();
  let engine: Engine | undefined;
  let batches: BatchServer | undefined;

  async function answer(id: number, request: Request, signal: AbortSignalLike): Promise<[unknown, ArrayBuffer[]]> {
    if (request.type === 'load') {
      Object.assign(env, request.env);
      const progress_callback = request.progress ? (info: unknown) => port.post({ id, progress: info }) : undefined;
      const options = { ...request.options, progress_callback, signal };
      const { where, model, head, adaptedHead, idsOnly } = request;
      engine = await Engine.load({ where, model, options, head, adaptedHead, idsOnly });
      await engine.helped; // info is sent only once
      return [{ info: engine.info, memory: engine.memory, files: engine.files }, []];
    }
    if (request.type === 'tokenizer') {
      Object.assign(env, request.env);
      batches = await BatchServer.load(request.files);
      return [undefined, []];
    }
    if (request.type === 'encode') {
      const part = (batches as BatchServer).encode(request);
      return [part, [part.ids.buffer as ArrayBuffer, part.lengths.buffer as ArrayBuffer]];
    }
    if (request.type === 'adapt') {
      await (engine as Engine).adapt(request.change);
      return [(engine as Engine).memory, []];
    }
    if (request.type === 'embed') {
      const result = await (engine as Engine).embed(request.texts, request.options, signal);
      return [result, [result.data.buffer as ArrayBuffer, result.tokens.buffer as ArrayBuffer]];
    }
    if (request.type === 'task') {
      const { task, items, options, first, pieces } = request;
      const onPiece = pieces ? (piece: unknown) => port.post({ id, progress: piece }) : undefined;
      const results = await runTask(engine as Engine, task, items, options, { first, signal, onPiece });
      return [results, [...buffersOf(results)]];
    }
    return [await (engine as Engine).warmup(), []];
  }

  port.onMessage((message: { id: number; request: Request } | Abortion) => {
    if ('abort' in message) return aborts.get(message.abort)?.abort(new Error(message.reason));
    const { id, request } = message;
    const controller = new AbortController();
    aborts.set(id, controller);
    answer(id, request, controller.signal)
      .then(
        ([result, transfer]) => port.post({ id, result, prefixes: engine?.prefixes }, transfer),
        (error) => port.post({ id, failure: toFailure(error), prefixes: engine?.prefixes }),
      )
      .finally(() => aborts.delete(id));
  });
}
