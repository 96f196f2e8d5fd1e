// Runs Node for Arm on any machine: under QEMU, with Debian's arm64 libraries in a private folder. Node built-ins only.
import { existsSync, mkdirSync, renameSync, rmSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { unpackPackages } from './debian.mjs';
import { fetchNode, kNewNode, programIn } from './new_node.mjs';
import { which } from './shell.mjs';

const kLibraries = ['libc6', 'libstdc++6', 'libgcc-s1', 'libatomic1'];

const placeIn = (home) => join(home, `node-${kNewNode}-arm64`);

/** The command that runs a program in it: [program, ...arguments]; undefined where there is none. */
export function armNode(home) {
  const place = placeIn(home);
  if (process.arch === 'arm64') return [process.execPath];
  const qemu = which('qemu-aarch64-static');
  return qemu && existsSync(place) ? [qemu, '-L', join(place, 'tree'), programIn(place)] : undefined;
}

/** Fetches what is missing of it, on a Debian that has QEMU. */
export function ensureArmNode(home, log) {
  const place = placeIn(home);
  if (process.arch === 'arm64' || !which('qemu-aarch64-static') || !which('apt-get') || existsSync(place)) return;
  const work = `${place}.${process.pid}`; // renamed at the end, so that an interrupted set-up leaves nothing half done
  mkdirSync(work, { recursive: true });
  fetchNode(work, 'linux-arm64', "to compare Arm's results", log);
  const tree = unpackPackages(work, kLibraries, { architecture: 'arm64' });
  if (!tree) return rmSync(work, { recursive: true });
  symlinkSync('usr/lib', join(tree, 'lib')); // Debian's base-files has this link
  renameSync(work, place);
}
