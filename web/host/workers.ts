// Web Workers. Bundles for Node use workers_node.ts instead. This is not part of platform.ts, so that wattn/tokenizer, which has no
// workers, does not name their scripts.
import { StateError, UnsupportedError } from '../core/errors.js';
import { scripts } from './inline_files.js';
import type { WorkerHandle, WorkerKind, WorkerPort, Workers } from './worker_port.js';

/** Set by tools/bundle.mjs: whether the worker scripts are embedded in this one (wattn/inline). */
declare const __WATTN_INLINE__: boolean;
/** Set by tools/bundle.mjs: whether this is a worker's script. It must not name itself: Turbopack would loop forever. */
declare const __WATTN_IN_WORKER__: boolean;

// Bundlers recognise exactly this form, `new Worker(new URL(...))`, and include the files.
function makeWorker(kind: WorkerKind): Worker {
  if (__WATTN_INLINE__) return blobWorker(scripts[kind]);
  return kind === 'thread' || __WATTN_IN_WORKER__
    ? new Worker(new URL('./thread.js', import.meta.url), { type: 'module' })
    : new Worker(new URL('./worker.js', import.meta.url), { type: 'module' });
}

/** A worker whose script is in this one. */
export function blobWorker(script: string): Worker {
  // A page without an origin (file:, a sandboxed frame) may start modules from data: alone.
  if (__WATTN_INLINE__ && globalThis.origin === 'null')
    return new Worker(`data:text/javascript,${encodeURIComponent(script)}`, { type: 'module' });
  const url = URL.createObjectURL(new Blob([script], { type: 'text/javascript' }));
  const drop = () => URL.revokeObjectURL(url);
  try {
    const worker = new Worker(url, { type: 'module' });
    worker.addEventListener('message', drop, { once: true }); // the script was read
    return worker;
  } catch (error) {
    drop();
    throw error;
  }
}

/** The address of the script that `make` starts. It stands there alone, in the form that bundlers recognise, so `make` is asked with another Worker. */
function addressOf(make: () => Worker): string {
  const scope = globalThis as { Worker: unknown };
  const own = scope.Worker;
  let address = '';
  try {
    scope.Worker = function (url: unknown) {
      address = String(url);
    };
    make();
  } catch (cause) {
    throw new UnsupportedError("worker: cannot locate a worker's script from this script's URL: use wattn/inline", { cause });
  } finally {
    scope.Worker = own;
  }
  return address;
}

/** The address of a script on another origin (a content network, a host for assets), from which an engine starts no worker. undefined: it is not. */
function elsewhere(make: () => Worker): string | undefined {
  const { origin } = globalThis as { origin?: string };
  if (__WATTN_INLINE__ || !origin || origin === 'null') return undefined; // 'null': a sandboxed frame, to which everything is elsewhere
  const address = addressOf(make);
  return /^https?:/i.test(address) && new URL(address).origin !== origin ? address : undefined;
}

/** The error for a page that may not start workers, with what the page can do. */
function notAllowed(cause: unknown): UnsupportedError {
  const { name, message } = (cause ?? {}) as { name?: unknown; message?: unknown };
  const remedy =
    name === 'TypeError' // of all that may forbid it, only Trusted Types throw this; engines word it differently
      ? "the page's Trusted Types need a default policy that lets createScriptURL pass this URL"
      : name === 'SecurityError'
        ? 'a sandboxed frame needs allow-same-origin'
        : "the page's Content-Security-Policy must allow the worker (worker-src)";
  return new UnsupportedError(
    `worker: this page may not start a worker: ${String(message ?? cause)}; ${remedy}, or load the model without the option 'worker'`,
    { cause },
  );
}

function startWorker(make: () => Worker): Worker {
  try {
    return make();
  } catch (cause) {
    throw notAllowed(cause);
  }
}

function obstacle(): string | undefined {
  if (globalThis.crossOriginIsolated !== true) return 'this page is not cross-origin isolated';
  // Without it WebKitGTK makes a shared memory, but no worker can receive it. (The bare name is shared_array_buffer.ts's.)
  if (globalThis.SharedArrayBuffer === undefined) return 'this engine has no SharedArrayBuffer';
  if (typeof Worker !== 'function') return 'this environment has no workers';
  return undefined;
}

/** The starter's side of a worker that `make` makes. */
export function handleOf(make: () => Worker): WorkerHandle {
  if (typeof Worker !== 'function') throw new UnsupportedError('worker: this environment has no workers');
  const address = elsewhere(make);
  const worker = startWorker(address === undefined ? make : () => blobWorker(`import ${JSON.stringify(address)};`));
  const notLoaded = () =>
    address === undefined
      ? new StateError('worker: failed: its script could not be loaded')
      : new UnsupportedError(
          `worker: its script is on another origin, and could not be loaded from there. The host of ${address} must allow it (CORS), and the page's ` +
            "Content-Security-Policy must have blob: and the host in worker-src. Or load the model without the option 'worker'",
        );
  return {
    post: (message, transfer = []) => worker.postMessage(message, transfer as ArrayBuffer[]),
    onMessage: (listener) => worker.addEventListener('message', ({ data }) => listener(data)),
    onError(listener) {
      worker.addEventListener('error', (event) => {
        event.preventDefault?.();
        listener(event.message ? new Error(event.message) : notLoaded());
      });
      worker.addEventListener('messageerror', () => listener(new Error('a message could not be read')));
    },
    keepAlive() {},
    end: () => worker.terminate(),
  };
}

export const workers: Workers = {
  start: (kind) => handleOf(() => makeWorker(kind)),
  threads: () => ({
    cores: globalThis.navigator?.hardwareConcurrency ?? 1,
    obstacle: obstacle(),
  }),
};

interface WorkerScope {
  postMessage(message: unknown, transfer: readonly ArrayBuffer[]): void;
  addEventListener(type: 'message', listener: (event: { data: unknown }) => void): void;
}

/** Called inside a worker: its side. */
export function ownPort(): WorkerPort {
  const scope = globalThis as unknown as WorkerScope;
  return {
    post: (message, transfer = []) => scope.postMessage(message, transfer),
    onMessage: (listener) => scope.addEventListener('message', ({ data }) => listener(data)),
  };
}
