// Intercepts every file system call of this process: the functions of node:fs and node:fs/promises are replaced once, and call a hook before and
// after. The product needs no code for it.
import { createRequire, syncBuiltinESMExports } from 'node:module';
import { resolve } from 'node:path';

// Not by import: Jest would keep the functions as they are now for all modules that import them.
const fs = createRequire(import.meta.url)('node:fs') as typeof import('node:fs');

export interface Call {
  /** The function's name, the same in all its forms; methods of FileHandle are called as the functions that take a descriptor. */
  name: string;
  /** Absolute paths that it touches: two for rename and link; none where nobody knows what a descriptor is of. */
  paths: string[];
  /** The descriptor of calls that take one. */
  fd: number | undefined;
  /** What a write is given. */
  data: Uint8Array | undefined;
  /** Whether it also syncs what it wrote (writeFile with `flush`). */
  flush: boolean;
}

/** What a call does: as it is, with other data, and then maybe an error in place of its result; or it never returns (only promises can). */
export interface Doing {
  data?: Uint8Array | undefined;
  then?: Error | undefined;
  never?: boolean;
}

export interface Hook {
  watches(call: Call): boolean;
  /** Throws: the call is not made, and fails. */
  before(call: Call): Doing;
  after(call: Call): void;
}

type Any = (...args: any[]) => any;

const kByPath =
  'access appendFile chmod chown copyFile cp exists lchown link lstat lutimes mkdir mkdtemp open opendir readdir readFile readlink realpath rename rm rmdir stat statfs truncate unlink utimes writeFile'.split(' '); // prettier-ignore
const kByFd = 'close fchmod fchown fdatasync fstat fsync ftruncate futimes read readv write writev'.split(' ');
/** What streams call; the other functions with callbacks call these too. */
const kCallbacks = ['open', 'close', 'read', 'readv', 'write', 'writev', 'fsync', 'fdatasync'];
const kTwoPaths = ['copyFile', 'cp', 'link', 'rename'];
const kMethods: Record<string, string> = {
  appendFile: 'appendFile', chmod: 'fchmod', chown: 'fchown', datasync: 'fdatasync', read: 'read', readFile: 'readFile', readv: 'readv',
  stat: 'fstat', sync: 'fsync', truncate: 'ftruncate', utimes: 'futimes', write: 'write', writeFile: 'writeFile', writev: 'writev',
}; // prettier-ignore

/** One for the process, though each file of Jest's tests has modules of its own: kept on `fs`, which they share. */
class Calls {
  /** The functions as they were, for the model of the disk itself. */
  readonly real: typeof fs = { ...fs, promises: { ...fs.promises } };
  hook: Hook | undefined;
  /** Calls that have begun and not ended. */
  pending = 0;
  /** The files of open descriptors. */
  readonly places = new Map<number, string>();
  /** Above 0 inside a function of Node, whose own calls do not count again. */
  depth = 0;

  hookOf(call: Call): Hook | undefined {
    return this.depth === 0 && this.hook?.watches(call) ? this.hook : undefined;
  }

  callOf(name: string, args: any[]): Call {
    const [first] = args;
    const fd = typeof first === 'number' ? first : typeof first?.fd === 'number' ? (first.fd as number) : undefined;
    const place = fd === undefined ? pathOf(first) : this.places.get(fd);
    const paths = place === undefined ? [] : [place];
    if (kTwoPaths.includes(name)) paths.push(pathOf(args[1]));
    return { name, paths, fd, data: dataOf(name, args), flush: args[2]?.flush === true };
  }
}

const pathOf = (path: unknown) => resolve(path instanceof URL ? path.pathname : String(path));

function bytesOf(data: unknown): Uint8Array {
  return ArrayBuffer.isView(data) ? new Uint8Array(data.buffer, data.byteOffset, data.byteLength) : Buffer.from(String(data));
}

/** write takes (fd, buffer, offset, length, position), (fd, buffer, { .. }) and (fd, text, position); writev takes a list; others (file, data). */
function dataOf(name: string, [, data, at, length]: any[]): Uint8Array | undefined {
  if (name === 'writev') return Buffer.concat((data as unknown[]).map(bytesOf));
  if (name === 'writeFile' || name === 'appendFile') return bytesOf(data);
  if (name !== 'write') return undefined;
  const bytes = bytesOf(data);
  if (typeof data === 'string') return bytes;
  const offset = Number((typeof at === 'object' ? at?.offset : at) ?? 0);
  return bytes.subarray(offset, offset + Number((typeof at === 'object' ? at?.length : length) ?? bytes.length - offset));
}

/** The arguments of a write with other data. */
function withData(name: string, args: any[], data: Uint8Array | undefined): any[] {
  const [target, given, at] = args;
  if (data === undefined) return args;
  if (name === 'writev') return [target, [data], at];
  if (name !== 'write') return [target, data, ...args.slice(2)];
  const position = typeof given === 'string' ? at : typeof at === 'object' ? at?.position : args[4];
  return [target, data, 0, data.length, position ?? null];
}

/** What is to be done, by the hook. Closing is done even where it fails: the descriptor is free then. */
function decide(hook: Hook, call: Call): Doing {
  try {
    return hook.before(call);
  } catch (error) {
    if (call.name === 'close') return { then: error as Error };
    throw error;
  }
}

function inPromise(calls: Calls, name: string, original: Any): Any {
  const remembered = (value: any, call: Call) => {
    if (name !== 'open') return value;
    const { fd, close } = value;
    calls.places.set(fd, call.paths[0] as string);
    const closed = inPromise(calls, 'close', () => (calls.places.delete(fd), close.call(value)));
    value.close = () => closed(value);
    return value;
  };
  return async (...args: any[]) => {
    const call = calls.callOf(name, args);
    const hook = calls.hookOf(call);
    if (!hook) return remembered(await original(...args), call);
    const { data, then, never } = decide(hook, call);
    if (never) return new Promise(() => {});
    ++calls.pending;
    try {
      const value = remembered(await original(...withData(name, args, data)), call);
      hook.after(call);
      if (!then) return value;
      if (name === 'open') await value.close();
      throw then;
    } finally {
      --calls.pending;
    }
  };
}

function inSync(calls: Calls, name: string, original: Any): Any {
  const run = (args: any[], call: Call) => {
    ++calls.depth;
    try {
      const value = original(...args);
      if (name === 'open') calls.places.set(value, call.paths[0] as string);
      if (name === 'close') calls.places.delete(args[0]);
      return value;
    } finally {
      --calls.depth;
    }
  };
  return (...args: any[]) => {
    const call = calls.callOf(name, args);
    const hook = calls.hookOf(call);
    if (!hook) return run(args, call);
    try {
      const { data, then } = decide(hook, call);
      const value = run(withData(name, args, data), call);
      hook.after(call);
      if (then) throw then;
      return value;
    } catch (error) {
      if (name === 'exists') return false; // which is all that it says of errors
      throw error;
    }
  };
}

function withCallback(calls: Calls, name: string, original: Any): Any {
  return (...all: any[]) => {
    const give = typeof all.at(-1) === 'function' ? (all.at(-1) as Any) : () => {};
    const args = typeof all.at(-1) === 'function' ? all.slice(0, -1) : all;
    const call = calls.callOf(name, args);
    const hook = calls.hookOf(call);
    let doing: Doing = {};
    try {
      if (hook) doing = decide(hook, call);
    } catch (error) {
      return process.nextTick(give, error);
    }
    if (doing.never) return undefined;
    if (hook) ++calls.pending;
    const ended = (error: unknown, ...rest: unknown[]) => {
      if (!error && name === 'open') calls.places.set(rest[0] as number, call.paths[0] as string);
      if (!error && name === 'close') calls.places.delete(args[0]);
      if (!error) hook?.after(call);
      if (hook) --calls.pending;
      give(error ?? doing.then ?? null, ...rest);
    };
    return original(...withData(name, args, doing.data), ended);
  };
}

async function install(): Promise<Calls> {
  const kept = fs as unknown as Record<symbol, Calls | undefined>;
  const key = Symbol.for('wattn.faults');
  const known = kept[key];
  if (known) return known;
  const calls = (kept[key] = new Calls());
  const handle = await calls.real.promises.open(process.execPath);
  const methods = Object.getPrototypeOf(handle) as Record<string, Any>;
  await handle.close();
  const functions = fs as unknown as Record<string, Any>;
  const promises = fs.promises as unknown as Record<string, Any>;
  for (const name of [...kByPath, ...kByFd]) {
    const [own, sync] = [promises[name], functions[`${name}Sync`]];
    if (own) promises[name] = inPromise(calls, name, own);
    if (sync) functions[`${name}Sync`] = inSync(calls, name, sync);
  }
  for (const name of kCallbacks) functions[name] = withCallback(calls, name, functions[name] as Any);
  for (const [method, name] of Object.entries(kMethods)) {
    const original = methods[method] as Any;
    const wrapped = inPromise(calls, name, (self: unknown, ...args: unknown[]) => original.apply(self, args));
    methods[method] = function (this: unknown, ...args: unknown[]) {
      return wrapped(this, ...args);
    };
  }
  syncBuiltinESMExports();
  return calls;
}

export const calls = await install();
