// What is done before a signal ends the process: no half file stays.
import { rmSync } from 'node:fs';

const kSignals = ['SIGHUP', 'SIGINT', 'SIGTERM'] as const;

/** Files beside those that are being written. */
const unfinished = new Set<string>();
let stop: (() => void) | undefined;

const removeUnfinished = () => unfinished.forEach((file) => rmSync(file, { force: true }));
process.on('exit', removeUnfinished);

function end(signal: NodeJS.Signals): void {
  if (stop) {
    stop();
    return onSignal(undefined);
  }
  removeUnfinished();
  process.off(signal, end);
  process.kill(process.pid, signal); // as without a handler: the shell sees what ended it
}

let isWatching = false;

/**
 * Without a reason for handlers there are none, so that signals end the process even within a long call into WebAssembly. With one they stay:
 * a signal that arrives while they are taken off and put on again would be lost.
 */
function watch(): void {
  const isWanted = stop !== undefined || unfinished.size > 0;
  if (isWanted === isWatching) return;
  isWatching = isWanted;
  for (const signal of kSignals) process[isWanted ? 'on' : 'off'](signal, end);
}

/** The first signal calls `handler`, the next one ends the process. undefined: the first one does. */
export function onSignal(handler: (() => void) | undefined): void {
  stop = handler;
  watch();
}

/** A file that is removed if the process ends before finished(). */
export function begun(file: string): void {
  unfinished.add(file);
  watch();
}
/** It has another name now, or is to be removed. */
export function finished(file: string, remove = false): void {
  if (remove) rmSync(file, { force: true });
  unfinished.delete(file);
  watch();
}
