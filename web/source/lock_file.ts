// A lock among the processes of one or several machines and containers that share a folder, for Node: a file that is made exclusively.
//
// It says who holds it. In the same space of process ids a holder that is gone is seen at once, by its id and the time it began. In another
// space an id says nothing; there a holder shows that it lives by touching its file. One that is kept from that (a long call, a sleeping machine) may
// lose its lock. So whoever writes under a lock must not depend on it for what is stored.
import { hostname } from 'node:os';
import { threadId } from 'node:worker_threads';
import { fs, fsSync } from './files_node.js';

const kTouchMs = 500;
/** Untouched for so long while somebody waits, a lock is stale whose holder cannot be looked up. */
const kUnseenMs = 3000;
/** Untouched for so long, any lock is stale. Its process lives, but a thread of it may have ended. */
const kOldMs = 60_000;
/** A lock that says nothing, or stops in a word: its maker ended between making and writing it, which takes no time. */
const kEmptyMs = 200;

export const codeOf = (error: unknown): string => String((error as { code?: unknown })?.code ?? error);

interface Holder {
  /** Which lock it is. */
  lock: string;
  pid: number;
  thread: number;
  /** When the process began, as far as the system tells. */
  began: string;
  /** Where its process id means something. */
  space: string;
}

const readOr = (read: () => string): string => {
  try {
    return read();
  } catch {
    return '';
  }
};

/** Fields of /proc/PID/stat after the name, which may hold anything: the 20th is the time of its start. */
const beganAt = (pid: number | 'self') =>
  readOr(
    () =>
      fsSync
        .readFileSync(`/proc/${pid}/stat`, 'latin1')
        .replace(/^.*\) /s, '')
        .split(' ')[19] ?? '',
  );

const spaceOf = () =>
  [
    process.platform,
    readOr(() => fsSync.readFileSync('/proc/sys/kernel/random/boot_id', 'latin1').trim()) || hostname(),
    readOr(() => fsSync.readlinkSync('/proc/self/ns/pid')),
  ].join(' ');

let own: Omit<Holder, 'lock'> | undefined;
const self = () => (own ??= { pid: process.pid, thread: threadId, began: beganAt('self'), space: spaceOf() });

/** Locks that this thread holds, never stale however late they are touched. A file that names another one of this thread could not be removed. */
const heldLocks = new Set<string>();

function holderIn(text: string): Holder | undefined {
  try {
    const value = JSON.parse(text) as Partial<Holder> | null;
    const fits = typeof value?.lock === 'string' && Number.isSafeInteger(value.pid) && Number(value.pid) > 0;
    return fits ? (value as Holder) : undefined;
  } catch {
    return undefined;
  }
}

/** Undefined: this process cannot tell. */
function isAlive({ lock, pid, thread, began, space }: Holder): boolean | undefined {
  if (space !== self().space) return undefined;
  if (pid === self().pid && thread === self().thread && began === self().began) return heldLocks.has(lock);
  try {
    process.kill(pid, 0); // only checks that the process exists
  } catch (error) {
    return codeOf(error) !== 'ESRCH';
  }
  const now = beganAt(pid);
  return now === '' || began === '' || now === began; // another process may have the id by now
}

/** What each lock was like that somebody here waits for, and since when it has been. */
const seen = new Map<string, { state: string; since: number }>();

/** Whether the holder of a lock is gone. */
export async function isStale(path: string): Promise<boolean> {
  return (await staleText(path)) !== undefined;
}

/** What a stale lock says. */
async function staleText(path: string): Promise<string | undefined> {
  let text: string;
  let touched: number;
  try {
    text = await fs.readFile(path, 'utf8');
    touched = (await fs.stat(path)).mtimeMs;
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return undefined; // it is free
    throw error;
  }
  const state = `${touched} ${text}`;
  const before = seen.get(path);
  if (before?.state !== state) seen.set(path, { state, since: performance.now() });
  // Clocks of two machines differ, so a wait is measured here.
  const waited = Math.max(before?.state === state ? performance.now() - before.since : 0, 0);
  const holder = holderIn(text);
  const alive = holder && isAlive(holder);
  if (holder && heldLocks.has(holder.lock)) return undefined;
  const isUnfinished = text === '' || (!holder && text.startsWith('{'));
  const most = alive === false ? 0 : isUnfinished ? kEmptyMs : alive === undefined ? kUnseenMs : kOldMs;
  return most === 0 || waited > most || Date.now() - touched > Math.max(most, kOldMs) ? text : undefined;
}

/** Takes a stale lock away, unless somebody else did and has made another. */
async function takeAway(path: string, text: string): Promise<void> {
  const aside = `${path}.${globalThis.crypto.randomUUID().replace(/-/g, '')}`;
  try {
    await fs.rename(path, aside);
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return;
    throw error;
  }
  const found = await fs.readFile(aside, 'utf8').catch(() => undefined);
  if (found !== undefined && found !== text) await fs.link(aside, path).catch(() => {}); // a living one: back to where it was
  await fs.rm(aside, { force: true });
}

/** Takes a lock. Undefined: another holds it. */
export async function tryLockFile(path: string): Promise<(() => void) | undefined> {
  const lock = globalThis.crypto.randomUUID();
  let file;
  try {
    file = await fs.open(path, 'wx');
  } catch (error) {
    if (codeOf(error) !== 'EEXIST') throw error;
    const text = await staleText(path);
    if (text !== undefined) await takeAway(path, text); // the next attempt takes it
    return undefined;
  }
  heldLocks.add(lock);
  try {
    await file.writeFile(JSON.stringify({ lock, ...self() } satisfies Holder));
  } catch (error) {
    heldLocks.delete(lock);
    await file.close().catch(() => {});
    await fs.rm(path, { force: true }).catch(() => {});
    throw error;
  }
  // By its handle: the path may be another's by now.
  const touching = setInterval(() => void file.utimes(new Date(), new Date()).catch(() => {}), kTouchMs);
  touching.unref();
  seen.delete(path);
  return () => {
    clearInterval(touching);
    heldLocks.delete(lock);
    void file.close().catch(() => {});
    if (holderIn(readOr(() => fsSync.readFileSync(path, 'utf8')))?.lock !== lock) return; // it is another's now
    try {
      fsSync.rmSync(path, { force: true });
    } catch {
      // It is stale: this thread knows, and others see that it is not touched.
    }
  };
}
