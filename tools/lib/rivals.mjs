// Installs other libraries for benchmarks and checks from npm into build/rivals, outside the product's dependencies.
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { root } from './shell.mjs';

export const rivals = join(root, 'build/rivals');
/** The folder of an installed package. */
export const folderOfRival = (name) => join(rivals, 'node_modules', name);

function isInstalled(spec) {
  const at = spec.lastIndexOf('@');
  const file = join(folderOfRival(spec.slice(0, at)), 'package.json');
  return existsSync(file) && JSON.parse(readFileSync(file, 'utf8')).version === spec.slice(at + 1);
}

/** Installs packages ('name@version') that are not there in this version. Their install scripts do not run. */
export function installRivals(...specs) {
  if (specs.every(isInstalled)) return;
  mkdirSync(rivals, { recursive: true });
  if (!existsSync(join(rivals, 'package.json'))) writeFileSync(join(rivals, 'package.json'), '{}');
  spawnSync('npm', ['install', '--ignore-scripts', '--no-audit', '--no-fund', ...specs], { cwd: rivals, stdio: 'inherit' });
}

/** What a page or script gets from an installed package. */
export async function importRival(name) {
  const found = await import(pathToFileURL(createRequire(join(rivals, 'package.json')).resolve(name)).href);
  return found.default ?? found;
}

/**
 * Builds a crate around others of crates.io, in build/rivals/NAME, and gives the folder of what was built; undefined: this machine has no cargo, or cannot build for
 * the target. dependencies: lines of Cargo.toml. source: of a program, or with `target` of a library that WebAssembly exports.
 */
export function buildCrate(name, dependencies, source, { target, flags = '' } = {}) {
  const folder = join(rivals, name);
  mkdirSync(join(folder, 'src'), { recursive: true });
  const kind = target ? '[lib]\ncrate-type = ["cdylib"]\n' : '';
  const profile = '[profile.release]\nopt-level = 3\nlto = true\nstrip = true\n';
  const manifest = `[package]\nname = "${name}"\nversion = "0.0.0"\nedition = "2021"\n${kind}[dependencies]\n${dependencies}\n${profile}`;
  writeFileSync(join(folder, 'Cargo.toml'), manifest);
  writeFileSync(join(folder, target ? 'src/lib.rs' : 'src/main.rs'), source);
  const args = ['build', '--release', '--quiet', ...(target ? ['--target', target] : [])];
  const { status } = spawnSync('cargo', args, { cwd: folder, stdio: 'inherit', env: { ...process.env, RUSTFLAGS: flags } });
  return status === 0 ? join(folder, 'target', target ?? '', 'release') : undefined;
}
