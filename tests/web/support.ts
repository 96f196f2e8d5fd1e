// Shared by the tests of web/: the folder of goldens, a Hub to load from, and catching errors.
import { readdirSync, readFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { env } from 'wattn';

// What a test downloads is not kept, unless it is about that (cache.test.ts).
env.useCache = false;

export const root = fileURLToPath(new URL('../../', import.meta.url));
export const goldens = join(root, 'tests/goldens');
export const tiny = join(goldens, 'bert-tiny/model');

export const readJson = (...path: string[]) => JSON.parse(readFileSync(join(goldens, ...path), 'utf8'));

export function readFloats(...path: string[]): Float32Array {
  const bytes = readFileSync(join(goldens, ...path));
  return new Float32Array(bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length));
}

export type Files = Map<string, Uint8Array>;

/** The files of a directory, by their paths in it. */
export function filesOf(directory: string): Files {
  const entries = readdirSync(directory, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  const name = (entry: (typeof entries)[number]) => join(entry.parentPath ?? entry.path, entry.name).slice(directory.length + 1);
  return new Map(entries.map((entry) => [name(entry), new Uint8Array(readFileSync(join(directory, name(entry))))]));
}

/** The tiny model, with the files of other golden directories laid over it. null: without that file. */
export function tinyFiles(over: Record<string, Uint8Array | string | null> = {}, ...directories: string[]): Files {
  const files = filesOf(tiny);
  for (const directory of directories)
    for (const [name, bytes] of filesOf(join(goldens, 'bert-tiny', directory))) files.set(name, bytes);
  for (const [name, content] of Object.entries(over)) {
    if (content === null) files.delete(name);
    else files.set(name, typeof content === 'string' ? new TextEncoder().encode(content) : content);
  }
  return files;
}

export const textOf = (files: Files, name: string) => new TextDecoder().decode(files.get(name));

/** A file of the tiny model with some members of its JSON replaced. */
export function edited(name: string, change: Record<string, unknown>): string {
  return JSON.stringify({ ...JSON.parse(readFileSync(join(tiny, name), 'utf8')), ...change });
}

export function largestDifference(a: ArrayLike<number>, b: ArrayLike<number>): number {
  if (a.length !== b.length) return Infinity;
  let most = 0;
  for (let i = 0; i < a.length; ++i) {
    const difference = Math.abs((a[i] as number) - (b[i] as number));
    if (!(difference <= most)) most = Number.isNaN(difference) ? Infinity : difference;
  }
  return most;
}

/** The error that a promise or a function ends with. */
export async function failure(work: Promise<unknown> | (() => unknown)): Promise<any> {
  try {
    await (typeof work === 'function' ? work() : work);
  } catch (error) {
    return error;
  }
  throw new Error('expected an error, and there was none');
}

type Answer = (request: IncomingMessage, response: ServerResponse, bytes: Uint8Array) => void;

export interface Hub {
  url: string;
  /** Method and path of each request so far. */
  requests: string[];
  close(): Promise<void>;
}

/** A server that answers as a hub does, from files under prefix. special: other answers, by file name. */
export async function serveHub(files: Files, prefix: string, special: Record<string, Answer> = {}): Promise<Hub> {
  const requests: string[] = [];
  const server = createServer((request, response) => {
    requests.push(`${request.method} ${request.url}`);
    const path = decodeURIComponent(new URL(request.url ?? '', 'http://localhost').pathname);
    const name = path.startsWith(prefix) ? path.slice(prefix.length) : '';
    const bytes = files.get(name);
    const answer = special[name];
    if (answer) return answer(request, response, bytes ?? new Uint8Array());
    if (!bytes) return response.writeHead(404, { 'content-type': 'text/plain' }).end('Entry not found');
    const type = name.endsWith('.json') ? 'application/json' : 'application/octet-stream';
    response.writeHead(200, { 'content-type': type, 'content-length': bytes.length });
    return request.method === 'HEAD' ? response.end() : response.end(bytes);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    close: () =>
      new Promise((resolve) => {
        server.closeAllConnections();
        server.close(() => resolve());
      }),
  };
}

/** Waits until it is so; if it never is, the test runs into Jest's limit. */
export async function until(isSo: () => boolean): Promise<void> {
  while (!isSo()) await new Promise((resolve) => setTimeout(resolve, 2));
}

/** The event loop's next turn. */
export const turn = () => new Promise<void>((resolve) => setImmediate(resolve));

/**
 * Goldens are exact answers rounded once; f32_diff is how far torch's own float32 run is from them. Ours sums in another order
 * with as many roundings, so it may be as far; 4 is the room that the native tests give too (tests/native/models/bert_test.cpp).
 */
export function expectNear(got: ArrayLike<number>, exact: ArrayLike<number>, f32Diff: number): void {
  expect(got.length).toBe(exact.length);
  for (let i = 0; i < exact.length; ++i) {
    const value = Math.fround(exact[i] as number);
    const bound = 4 * Math.max(f32Diff, Math.abs(value) * 2 ** -23);
    if (!(Math.abs((got[i] as number) - value) <= bound))
      throw new Error(`component ${i}: expected ${value} within ${bound}, found ${got[i]}`);
  }
}

const kWords =
  'the boat small birds home dark river sing old bridge wind a, b. 42 \u00e9\u0301 \u4e2d\u6587 \ud83d\ude00 [SEP] \ud800'.split(
    ' ',
  );

/** Texts of many lengths, the same at each run. */
export function mixedTexts(count: number): string[] {
  let state = 12345;
  const next = (below: number) => {
    state = (Math.imul(state, 1103515245) + 12345) & 0x7fffffff;
    return (state >>> 8) % below;
  };
  return Array.from({ length: count }, () =>
    Array.from({ length: next(next(8) === 0 ? 120 : 20) }, () => kWords[next(kWords.length)]).join(' '),
  );
}

/** Expects work to end with that error, and gives it. */
export async function expectError(work: Promise<unknown> | (() => unknown), name: string, message: RegExp = /./): Promise<any> {
  const error = await failure(work);
  expect(`${error.name}: ${error.message}`).toMatch(message);
  expect(error.name).toBe(name);
  return error;
}

/**
 * The tiny encoder with a head of tests/goldens/tasks, in shards. config: members of its config.json to replace. head: whose head, when
 * not its own; null for none.
 */
export function headFiles(kind: string, config: Record<string, unknown> = {}, head: string | null = kind): Files {
  const files = tinyFiles({ 'modules.json': null, '1_Pooling/config.json': null });
  const encode = (json: unknown) => new TextEncoder().encode(JSON.stringify(json));
  files.set('config.json', encode({ ...readJson('tasks', kind, 'config.json'), ...config }));
  files.set('encoder.safetensors', files.get('model.safetensors') as Uint8Array);
  files.delete('model.safetensors');
  const shards: Record<string, string> = { encoder: 'encoder.safetensors' };
  if (head !== null) {
    shards['head'] = 'head.safetensors';
    files.set('head.safetensors', new Uint8Array(readFileSync(join(goldens, 'tasks', head, 'head.safetensors'))));
  }
  files.set('model.safetensors.index.json', encode({ weight_map: shards }));
  return files;
}

/** The memories that WebAssembly gets during the tests of a file or a describe(), in their order. */
export function madeMemories(): WebAssembly.Memory[] {
  const made: WebAssembly.Memory[] = [];
  const { Memory } = WebAssembly;
  beforeAll(() => {
    (WebAssembly as any).Memory = function (descriptor: WebAssembly.MemoryDescriptor) {
      const memory = new Memory(descriptor);
      made.push(memory);
      return memory;
    };
  });
  afterAll(() => {
    WebAssembly.Memory = Memory;
  });
  return made;
}

/** How a GGUF file has its token types: GGML's type 0 is float32. llama.cpp adds a row of them, and ends the process where they are of another. */
export function typeOfTokenTypes(gguf: Buffer): { dimensions: number; type: number } {
  const name = 'token_types.weight';
  const at = gguf.indexOf(name) + name.length; // then: how many dimensions, [width, types] of 8 bytes each, type
  return { dimensions: gguf.readUInt32LE(at), type: gguf.readUInt32LE(at + 20) };
}
