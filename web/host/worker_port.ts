// The interface of workers, common to pages (workers.ts) and Node (workers_node.ts).

/** 'thread': a helper thread of one engine (thread_main.ts). 'engine': holds a whole model (entries/worker.ts). */
export type WorkerKind = 'thread' | 'engine';

/** The starter's side. */
export interface WorkerHandle {
  post(message: unknown, transfer?: readonly ArrayBuffer[]): void;
  onMessage(listener: (message: any) => void): void;
  /** The worker could not start, failed or ended. */
  onError(listener: (error: Error) => void): void;
  /** Whether the worker keeps a Node process alive; initially it does not. No effect in a page. */
  keepAlive(keep: boolean): void;
  end(): void;
}

/** The worker's side. */
export type WorkerPort = Pick<WorkerHandle, 'post' | 'onMessage'>;

export interface Workers {
  /** Why there are none at all. */
  none?: string;
  start(kind: WorkerKind): WorkerHandle;
  /** Available cores, and what prevents helper threads, if anything does. */
  threads(): { cores: number; obstacle: string | undefined };
}
