// Helper threads: whether they can be had here, and their start. A helper is a worker with an instance of its own over the
// engine's memory; in there it runs wattn_serve, which sleeps until the engine has work (src/core/thread_team.h).
import type { Helpers } from './seam.js';
import type { Instance } from './wasm_loader.js';
import type { WorkerHandle } from './worker_port.js';
import { workers } from './workers.js';

/** What a helper is told once, and all it is ever told. */
export interface HelperStart {
  module: WebAssembly.Module;
  memory: WebAssembly.Memory;
  team: number;
  thread: number;
  stack: number;
  stackBytes: number;
}

export interface ThreadPlan {
  /** Threads to try for, the caller's included. */
  threads: number;
  /** Why there is only one, when there is only one. */
  reason: string | undefined;
}

const kMostThreads = 16; // ThreadTeam::kMostThreads
const kDefaultThreads = 4; // more help little with models of this size, and each has an engine's own cost
const kStartMs = 5000;

/** wanted: the option; undefined: as many as are of use. */
export function planThreads(wanted: number | undefined): ThreadPlan {
  const one = (reason: string): ThreadPlan => ({ threads: 1, reason });
  if (wanted === 1) return one('one thread was asked for');
  const { cores, sharedMemory } = workers.threads();
  if (!sharedMemory) return one('this page is not cross-origin isolated');
  if (wanted === undefined && cores < 2) return one('this machine has one core');
  return { threads: Math.min(wanted ?? Math.min(cores, kDefaultThreads), kMostThreads), reason: undefined };
}

export interface HelperTeam {
  /** Undefined when all of them serve, or why none does. */
  ready: Promise<string | undefined>;
  end(): void;
}

export function startHelpers(module: WebAssembly.Module, { memory }: Instance, { team, stacks, stack_bytes }: Helpers): HelperTeam {
  const helpers: WorkerHandle[] = [];
  let giveUp: (error: Error) => void;
  const late = new Promise<never>((_, reject) => (giveUp = reject));
  const timer = setTimeout(() => giveUp(new Error(`no answer within ${kStartMs} ms`)), kStartMs);
  const start = (stack: number, i: number) =>
    new Promise<void>((resolve, reject) => {
      const worker = workers.start('thread');
      helpers.push(worker);
      worker.onMessage((message) => (message === 'serving' ? resolve() : reject(new Error(String(message)))));
      worker.onError(reject);
      worker.post({ module, memory, team, thread: i + 1, stack, stackBytes: stack_bytes } satisfies HelperStart);
    });
  const end = () => {
    clearTimeout(timer);
    giveUp(new Error('ended')); // those who still wait
    helpers.forEach((helper) => helper.end());
  };
  const ready = Promise.race([Promise.all(stacks.map(start)), late]).then(
    () => void clearTimeout(timer),
    (error) => {
      end();
      return `helper threads did not start: ${String(error?.message ?? error)}`;
    },
  );
  return { ready, end };
}
