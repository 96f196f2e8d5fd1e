// A platform that fails: the n-th call on a folder fails, or is the last one before the process dies or the power fails.
//
//     const { Faults, everyCall } = await import('./faults/faults.js');  // before all that imports node:fs, see below
//     const { mkdtempSync } = await import('node:fs');
//     const { Index } = await import('wattn');
//
//     await everyCall(async (n) => {                    // n = 1, 2, .. until the work makes fewer than n calls
//       const folder = mkdtempSync(..);
//       const faults = new Faults(folder).failNth(n, { code: 'ENOSPC' });
//       const said = await work().catch((error) => error);
//       await faults.end();
//       // .. whatever was reported is there, or `said` is a typed error; nothing half-written is left; the next run succeeds
//       return faults.reached;                          // whether there was an n-th call
//     });
//
// and with a loss of power:
//
//       const faults = new Faults(folder, { disk: true }).dieAt(n);
//       await work().catch(() => {});
//       await faults.powerLoss('zeros');                // the folder is now as a disk may be after that
//
// Functions of node:fs are replaced (calls.ts), and modules must see the replaced ones. Jest keeps what Node exports when the first module of a
// test file imports it, so such a file imports all that uses node:fs by `await import`, this file first. In a child process `node --import` does it
// (child.ts), and there the process really dies: locks named after it are those of a dead process. Worker threads are not seen. After `dieAt` every
// call fails, so the product can change nothing more; what it left in memory, such as timers and locks that it holds, must not matter.
import { sep } from 'node:path';
import { calls, type Call, type Doing } from './calls.js';
import { Disk, type Loss } from './disk.js';

export type { Call, Loss };

export interface Fault {
  /** EIO by default. */
  code?: 'EIO' | 'ENOSPC' | 'EACCES' | 'EMFILE' | 'EROFS' | 'EEXIST' | 'ENOENT' | (string & {});
  /** A write writes half of its bytes before it fails. */
  half?: boolean;
  /** The call is made, and then its result is an error, as over a network. */
  after?: boolean;
  /** So does every later call that needs space or rights to write, as on a full disk. */
  forever?: boolean;
}

const kErrno: Record<string, number> = { ENOENT: 2, EIO: 5, EACCES: 13, EEXIST: 17, EMFILE: 24, ENOSPC: 28, EROFS: 30 };
const kNeedsSpace = 'appendFile copyFile cp fsync fdatasync link mkdir mkdtemp open rename write writeFile writev'.split(' ');

/** An error as Node makes them. */
export function errnoError(code: string, call: string, path?: string): Error {
  const error = new Error(`${code}: made by a test, ${call}${path === undefined ? '' : ` '${path}'`}`);
  return Object.assign(error, { code, errno: -(kErrno[code] ?? 1), syscall: call, ...(path !== undefined && { path }) });
}

export class Faults {
  /** Calls so far, in their order: name and path. */
  readonly calls: string[] = [];
  private nth = Infinity;
  private fault: Fault = {};
  private dying: (() => void) | 'throw' | undefined;
  private isDead = false;
  private readonly disk: Disk | undefined;

  /** Follows the calls that touch the folder or what is in it. disk: whether power may be lost (costs a look at the folder a call). */
  constructor(
    private readonly folder: string,
    { disk = false } = {},
  ) {
    if (disk) this.disk = new Disk(folder);
    calls.hook = {
      watches: ({ paths }) => paths.some((path) => path === folder || path.startsWith(folder + sep)),
      before: (call) => this.before(call),
      after: (call) => void (this.isDead || this.disk?.ended(call)),
    };
  }

  /** Whether the n-th call was made. */
  get reached(): boolean {
    return this.calls.length >= this.nth;
  }

  failNth(n: number, fault: Fault = {}): this {
    [this.nth, this.fault] = [n, fault];
    return this;
  }

  /** The n-th call and all that follow are not made: they throw or, with `die`, which is to end the process, never return. */
  dieAt(n: number, die?: () => void): this {
    this.nth = n;
    this.dying = die ?? 'throw';
    return this;
  }

  private before(call: Call): Doing {
    const at = this.calls.push(`${call.name} ${call.paths.map((path) => path.slice(this.folder.length)).join(' ')}`);
    if (at >= this.nth && this.dying) {
      const wasDead = this.isDead;
      this.isDead = true;
      if (this.dying === 'throw') throw errnoError('EIO', `${call.name} after the end of the process`);
      if (!wasDead) this.dying();
      return { never: true };
    }
    this.disk?.begins(call);
    const { code = 'EIO', half, after, forever } = this.fault;
    if (at !== this.nth && !(forever && at > this.nth && kNeedsSpace.includes(call.name))) return {};
    const then = errnoError(code, call.name, call.paths[0]);
    if (after) return { then };
    if (half && call.data) return { data: call.data.subarray(0, call.data.length >> 1), then };
    throw then;
  }

  /** Waits for calls that had begun, and then follows no more. */
  async end(): Promise<void> {
    while (calls.pending > 0) await new Promise((resolve) => setImmediate(resolve));
    calls.hook = undefined;
    this.disk?.close();
  }

  /** powerLoss at the end of a process, when nothing is under way. */
  loseNow(loss: Loss): void {
    calls.hook = undefined;
    this.disk?.lose(loss);
  }

  /** After `dieAt`: brings the folder to a state in which a loss of power may leave it. It needs `new Faults(folder, { disk: true })`. */
  async powerLoss(loss: Loss): Promise<void> {
    while (calls.pending > 0) await new Promise((resolve) => setImmediate(resolve));
    calls.hook = undefined;
    this.disk?.lose(loss);
    this.disk?.close();
  }
}

/** Runs with n = 1, 2, .. (or every step-th of them) until the work makes fewer than n calls. Gives how many calls it makes, or a few more. */
export async function everyCall(run: (n: number) => Promise<boolean>, step = 1, first = 1): Promise<number> {
  let n = first;
  while (await run(n)) n += step;
  if (n === 1) throw new Error('no call was seen: was node:fs imported before the faults?');
  return n - 1;
}
