// Runs programs in a separate process whose file system calls fail, or that end at one of them: by SIGKILL, or by a power failure.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import type { Fault, Loss } from './faults.js';

const root = fileURLToPath(new URL('../../../', import.meta.url)); // not by support.ts, which imports the product

export interface ChildFaults {
  /** Calls that touch this folder count. */
  folder: string;
  failNth?: [n: number, fault?: Fault];
  /** The n-th call is not made: the process is killed. */
  killAt?: number;
  /** The same, and what was not synced in the folder is lost; where there are fewer calls, at the end of the process. */
  losePowerAt?: [n: number, loss: Loss];
}

export interface ChildEnd {
  code: number | null;
  signal: string | null;
  out: string;
  error: string;
  /** The calls in their order: name and path. */
  calls: string[];
}

let preload: Promise<string> | undefined;

/** The script for `--import`, built once. */
async function preloaded(): Promise<string> {
  const outfile = join(root, 'build/faults/preload.mjs');
  const made = `${outfile}.${process.pid}`;
  mkdirSync(join(root, 'build/faults'), { recursive: true });
  const entryPoints = [join(root, 'tests/web/faults/preload.ts')];
  await build({ entryPoints, outfile: made, bundle: true, platform: 'node', format: 'esm', target: 'node20', logLevel: 'warning' });
  renameSync(made, outfile); // another process may be reading it
  return outfile;
}

/** Runs `node ..args` with faults. */
export async function inChild(
  args: string[],
  faults: ChildFaults,
  options: { cwd?: string; env?: Record<string, string>; input?: string } = {},
): Promise<ChildEnd> {
  const script = await (preload ??= preloaded());
  const place = mkdtempSync(join(tmpdir(), 'wattn-faults-'));
  const report = join(place, 'calls.json');
  const child = spawn(process.execPath, ['--import', script, ...args], {
    cwd: options.cwd ?? root,
    env: { ...process.env, ...options.env, WATTN_FAULTS: JSON.stringify({ ...faults, report }) },
  });
  const end: ChildEnd = { code: null, signal: null, out: '', error: '', calls: [] };
  child.stdout.setEncoding('utf8').on('data', (text) => (end.out += text));
  child.stderr.setEncoding('utf8').on('data', (text) => (end.error += text));
  child.stdin.on('error', () => {});
  child.stdin.end(options.input ?? '');
  [end.code, end.signal] = (await once(child, 'close')) as [number | null, string | null];
  if (existsSync(report)) end.calls = JSON.parse(readFileSync(report, 'utf8'));
  rmSync(place, { recursive: true });
  return end;
}
