// Small helpers every tool shares. Node built-ins only: these run before `npm ci` has happened.
import { spawnSync } from 'node:child_process';
import { accessSync, constants, statSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The checkout's root folder. */
export const root = fileURLToPath(new URL('../..', import.meta.url)).replace(/\/$/, '');

/** Ends the program with one clear line instead of a stack trace. */
export function fail(message) {
  console.error(`error: ${message}`);
  process.exit(1);
}

/** Path of a program on PATH, or undefined. */
export function which(program) {
  for (const folder of (process.env.PATH ?? '').split(delimiter)) {
    const path = join(folder, program);
    try {
      accessSync(path, constants.X_OK);
      if (statSync(path).isFile()) return path;
    } catch {}
  }
  return undefined;
}

/** Runs a command; returns { ok, status, output } with stdout and stderr together. */
export function capture(command, args, options = {}) {
  const result = spawnSync(command, args, { encoding: 'utf8', maxBuffer: 1 << 28, ...options });
  const output = `${result.stdout ?? ''}${result.stderr ?? ''}${result.error ?? ''}`;
  return { ok: result.status === 0, status: result.status, stdout: result.stdout ?? '', output };
}

/** Runs a command that has to succeed; on failure shows everything it said and ends the program. */
export function must(command, args, options = {}) {
  const result = capture(command, args, options);
  if (!result.ok) {
    console.error(result.output);
    fail(`${command} ${args.join(' ')} failed (exit ${result.status})`);
  }
  return result.stdout;
}
