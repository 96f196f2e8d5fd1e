// Installs a newer Node than the system's, from npm. Node built-ins only.
import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { fail, must } from './shell.mjs';

export const kNewNode = '24.21.0';
// SHA-256 of npm's package of that Node, by platform. (apt checks what Debian signed.)
const kHashes = {
  'linux-arm64': 'fba3076c16d21e5d814577436bdcb782b9b66bed09c6fa8278298e8933288bbb',
  'linux-x64': '61ecf27ad70afee991b671c28561eb497028294a67d132f9bbaac9ad73f81d3b',
};

/** The program in a folder that fetchNode has filled. */
export const programIn = (folder) => join(folder, 'package/bin/node');

/** platform: as in process.platform-process.arch. why: for the log. */
export function fetchNode(folder, platform, why, log) {
  const expected = kHashes[platform] ?? fail(`no Node ${kNewNode} is known for ${platform}: install Node 22 or newer`);
  log(`fetching Node ${kNewNode} from npm ${why}`);
  mkdirSync(folder, { recursive: true });
  const packed = join(folder, must('npm', ['pack', '--silent', `node-${platform}@${kNewNode}`], { cwd: folder }).trim());
  const found = createHash('sha256').update(readFileSync(packed)).digest('hex');
  if (found !== expected) fail(`${packed} has SHA-256 ${found}, expected ${expected}`);
  must('tar', ['-xzf', packed, '-C', folder]);
  rmSync(packed);
}
