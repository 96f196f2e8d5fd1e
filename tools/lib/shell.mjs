// Small helpers for all tools. Node built-ins only, because they run before `npm ci`.
import { spawn, spawnSync } from 'node:child_process';
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

/** Runs a command that must succeed; throws with all its output when it fails. Returns its standard output. */
export function run(command, args, options = {}) {
  const result = capture(command, args, options);
  if (!result.ok) throw new Error(`${command} ${args.join(' ')} failed (exit ${result.status})\n${result.output}`);
  return result.stdout;
}

/** The same, but ends the program with a message when the command fails. */
export function must(command, args, options = {}) {
  try {
    return run(command, args, options);
  } catch (error) {
    return fail(error.message);
  }
}

/** Like capture() in the root folder, but asynchronous, so timers and interrupts work meanwhile. */
export function start(command, args, options = {}) {
  return new Promise((resolve) => {
    const child = spawn(command, args, {
      cwd: root,
      stdio: ['ignore', 'pipe', 'pipe'],
      ...options,
      env: { ...(options.env ?? process.env), NO_COLOR: '1' },
    });
    const parts = [];
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (part) => parts.push(part));
    child.on('error', (error) => resolve({ ok: false, output: `${command}: ${error.message}\n` }));
    child.on('close', (status) => resolve({ ok: status === 0, output: Buffer.concat(parts).toString() }));
  });
}
