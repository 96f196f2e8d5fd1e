// Helper threads: whether they are available, and their start. A helper is a worker with its own instance over the engine's memory. It
// runs wattn_serve, which sleeps until the engine has work (src/core/thread_team.h).
import type { HelpersAnswer } from './wire.js';
import type { Instance } from './wasm_loader.js';
import type { WorkerHandle } from './worker_port.js';
import { workers } from './workers.js';

/** The only message that a helper receives. */
export interface HelperStart {
  module: WebAssembly.Module;
  memory: WebAssembly.Memory;
  team: number;
  thread: number;
  stack: number;
  stackBytes: number;
}

interface ThreadPlan {
  /** Threads to use if possible, the caller's included. */
  threads: number;
  /** The reason if there is only one. */
  reason: string | undefined;
}

const kMostThreads = 16; // ThreadTeam::kMostThreads
const kDefaultThreads = 4; // more help little with models of this size, and each costs memory
const kStartMs = 5000;

/** wanted: the option; undefined: the default. */
export function planThreads(wanted: number | undefined): ThreadPlan {
  const one = (reason: string): ThreadPlan => ({ threads: 1, reason });
  if (wanted === 1) return one('one thread was requested');
  const { cores, obstacle } = workers.threads();
  if (obstacle !== undefined) return one(obstacle);
  if (wanted === undefined && cores < 2) return one('this machine has one core');
  return { threads: Math.min(wanted ?? Math.min(cores, kDefaultThreads), kMostThreads), reason: undefined };
}

interface HelperTeam {
  /** Resolves to undefined once all helpers are running, or to the reason why none is. */
  ready: Promise<string | undefined>;
  end(): void;
}

export function startHelpers(
  module: WebAssembly.Module,
  { memory }: Instance,
  { team, stacks, stack_bytes }: HelpersAnswer,
): HelperTeam {
  const helpers: WorkerHandle[] = [];
  let giveUp: (error: Error) => void;
  const late = new Promise<never>((_, reject) => (giveUp = reject));
  const timer = setTimeout(() => giveUp(new Error(`no response within ${kStartMs} ms`)), kStartMs);
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
    giveUp(new Error('ended')); // for pending starts
    helpers.forEach((helper) => helper.end());
  };
  const ready = Promise.race([Promise.all(Array.from(stacks, start)), late]).then(
    () => void clearTimeout(timer),
    (error) => {
      end();
      return `helper threads did not start: ${String(error?.message ?? error)}`;
    },
  );
  return { ready, end };
}
