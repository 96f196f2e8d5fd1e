// Names a build: a hash of everything the wasm is built from. `node tools/build_id.mjs FILE` writes it as a C++ header, and
// leaves the file untouched when nothing changed, so that nothing is recompiled.
import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { root } from './lib/shell.mjs';

function filesOf(path) {
  return readdirSync(path, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && /\.(cpp|h|def|cmake)$/.test(entry.name))
    .map((entry) => join(entry.parentPath ?? entry.path, entry.name));
}

export function buildId() {
  const hash = createHash('sha256');
  const files = ['src', 'bindings', 'cmake'].flatMap((folder) => filesOf(join(root, folder)));
  for (const file of [...files, join(root, 'CMakeLists.txt')].sort()) {
    hash
      .update(`${relative(root, file)}\0`)
      .update(readFileSync(file))
      .update('\0');
  }
  return hash.digest('hex').slice(0, 16);
}

if (process.argv[2]) {
  const text = `#define WATTN_BUILD_ID "${buildId()}"\n`;
  const file = process.argv[2];
  if (!existsSync(file) || readFileSync(file, 'utf8') !== text) writeFileSync(file, text);
}
