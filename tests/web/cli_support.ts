// Runs the command line in tests.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { root } from './support.js';

export const cli = join(root, 'dist/cli.js');

export interface Said {
  code: number;
  out: string;
  error: string;
}

export async function wattn(args: string[], input?: string | Uint8Array, cwd = root, env = {}): Promise<Said> {
  const child = spawn(process.execPath, [cli, ...args], { cwd, env: { ...process.env, ...env } });
  const said: Said = { code: -1, out: '', error: '' };
  child.stdout.setEncoding('utf8').on('data', (text) => (said.out += text));
  child.stderr.setEncoding('utf8').on('data', (text) => (said.error += text));
  child.stdin.on('error', () => {});
  if (input !== undefined) child.stdin.end(input);
  [said.code] = await once(child, 'close');
  return said;
}

export const linesOf = (said: Said) => {
  expect(said).toMatchObject({ code: 0, error: '' });
  return said.out
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line));
};
