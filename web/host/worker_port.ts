// A worker as wattn sees it, the same in a page and in Node.

/** The starter's end. */
export interface WorkerHandle {
  post(message: unknown, transfer?: readonly ArrayBuffer[]): void;
  onMessage(listener: (message: any) => void): void;
  /** The worker could not start, or broke. */
  onError(listener: (error: Error) => void): void;
  /** Whether the worker keeps a Node process alive; not until asked. Nothing in a page. */
  keepAlive(keep: boolean): void;
  end(): void;
}

/** The worker's own end. */
export interface WorkerPort {
  post(message: unknown, transfer?: readonly ArrayBuffer[]): void;
  onMessage(listener: (message: any) => void): void;
}

/** 'thread': helps one engine (thread_main.ts). 'engine': holds a whole one (engine_worker.ts). */
export type WorkerKind = 'thread' | 'engine';

interface WorkerScope {
  postMessage(message: unknown, transfer: readonly ArrayBuffer[]): void;
  addEventListener(type: 'message', listener: (event: { data: unknown }) => void): void;
}

/** Of a Web Worker. */
export const pagePort = (): WorkerPort => {
  const scope = globalThis as unknown as WorkerScope;
  return {
    post: (message, transfer = []) => scope.postMessage(message, transfer),
    onMessage: (listener) => scope.addEventListener('message', ({ data }) => listener(data)),
  };
};
