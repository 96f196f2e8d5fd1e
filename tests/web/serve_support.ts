// Starts `wattn serve` as a separate process and sends it requests, for tests.
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { request as httpRequest, type Agent, type IncomingMessage } from 'node:http';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { cli } from './cli_support.js';
import { root, until, type Files } from './support.js';

const running = new Set<ChildProcess>();
const folders: string[] = [];

export function endServers(): void {
  for (const child of running) child.kill('SIGKILL');
  for (const folder of folders) rmSync(folder, { recursive: true });
}

/** A folder with these files; endServers() removes it. */
export function folderOf(files: Files, name = 'model'): string {
  const folder = join(mkdtempSync(join(tmpdir(), 'wattn-serve-')), name);
  folders.push(dirname(folder));
  for (const [file, bytes] of files) {
    mkdirSync(dirname(join(folder, file)), { recursive: true });
    writeFileSync(join(folder, file), bytes);
  }
  return folder;
}

export interface Reply {
  status: number;
  headers: IncomingMessage['headers'];
  text: string;
  json: any;
}

interface Asking {
  method?: string;
  headers?: Record<string, string | number>;
  /** Sent as JSON, unless it is bytes. */
  body?: unknown;
  signal?: AbortSignal | undefined;
  agent?: Agent;
}

export interface Served {
  url: string;
  /** The line that it wrote. */
  said: { url: string; model: string; task: string };
  errors: () => string;
  ask(path: string, asking?: Asking): Promise<Reply>;
  /** A value of /metrics. */
  metric(name: string): Promise<number>;
  signal(name: NodeJS.Signals): void;
  /** Ends it, and gives its exit code or the signal that ended it. */
  stop(signal?: NodeJS.Signals): Promise<number | string>;
}

export async function askAt(url: string, { method, headers = {}, body, signal, agent }: Asking = {}): Promise<Reply> {
  const bytes = body === undefined || body instanceof Uint8Array ? body : Buffer.from(JSON.stringify(body));
  const own = { ...(bytes && { 'content-length': bytes.length }), ...headers };
  const sent = httpRequest(url, { method: method ?? (bytes ? 'POST' : 'GET'), headers: own, signal, agent });
  sent.end(bytes);
  const [response] = (await once(sent, 'response')) as [IncomingMessage];
  let text = '';
  for await (const part of response.setEncoding('utf8')) text += part;
  const isJson = /json/.test(response.headers['content-type'] ?? '');
  return { status: response.statusCode as number, headers: response.headers, text, json: isJson ? JSON.parse(text) : undefined };
}

/** Starts `wattn serve` on a free port, or another command that listens. */
export async function startServer(args: string[], env: Record<string, string> = {}, command = 'serve'): Promise<Served> {
  const child = spawn(process.execPath, [cli, command, '--port', '0', ...args], { cwd: root, env: { ...process.env, ...env } });
  running.add(child);
  const ended = once(child, 'exit').then(([code, signal]) => (running.delete(child), (code ?? signal) as number | string));
  let [out, errors] = ['', ''];
  child.stdout.setEncoding('utf8').on('data', (text) => (out += text));
  child.stderr.setEncoding('utf8').on('data', (text) => (errors += text));
  let code: number | string | undefined;
  void ended.then((how) => (code = how));
  await until(() => out.includes('\n') || code !== undefined);
  if (code !== undefined) throw new Error(`wattn ${command} ended with ${code}: ${errors}`);
  const said = JSON.parse(out);
  const ask = (path: string, asking?: Asking) => askAt(`${said.url}${path}`, asking);
  return {
    url: said.url,
    said,
    errors: () => errors,
    ask,
    async metric(name) {
      const { text } = await ask('/metrics');
      const line = text.split('\n').find((each) => each.startsWith(`wattn_${name} `));
      return line === undefined ? 0 : Number(line.split(' ')[1]);
    },
    signal: (name) => void child.kill(name),
    stop(signal = 'SIGTERM') {
      child.kill(signal);
      return ended;
    },
  };
}

/** Waits until an asynchronous condition holds. */
export async function untilIt(isSo: () => Promise<boolean>): Promise<void> {
  while (!(await isSo())) await new Promise((resolve) => setImmediate(resolve));
}
