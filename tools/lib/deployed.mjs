// Programs that are installed without their project's files: an editor extension, a container, a desktop program. For tools/check_fixtures.mjs.
import { chmodSync, cpSync, existsSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { inPage, install, moveAway, same } from './consumers.mjs';
import { run } from './shell.mjs';

/** A package of an extension (.vsix) for each form of its source, unpacked elsewhere and run by what an extension host does. */
export function vscodeExtension(packing) {
  const folder = install(packing, 'vscode', { shared: 'moved', network: true });
  const forms = { esm: 'extension.js', cjs: 'extension.cjs' };
  for (const [form, SOURCE] of Object.entries(forms)) {
    const env = { ...process.env, SOURCE };
    run(join(folder, 'node_modules/.bin/vsce'), ['package', '--no-dependencies', '--allow-missing-repository', '--skip-license', '--out', `${form}.vsix`], { cwd: folder, env }); // prettier-ignore
    run(process.execPath, ['unpack.js', `${form}.vsix`, `unpacked-${form}`], { cwd: folder });
    rmSync(join(folder, 'out'), { recursive: true });
    cpSync(join(folder, 'host.cjs'), join(folder, `unpacked-${form}/host.cjs`));
  }
  const programs = Object.keys(forms).map((form) => `unpacked-${form}/host.cjs`);
  const { away, expected } = moveAway(packing, folder, programs);
  for (const program of programs) {
    const extension = join(away, program, '../extension');
    same(run(process.execPath, [join(away, program), extension], { cwd: packing.work }), expected, program);
  }
}

/** Takes the right to write from everything in a folder. */
function freeze(folder) {
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) freeze(path);
    else if (entry.isFile()) chmodSync(path, 0o444);
  }
  chmodSync(folder, 0o555);
}

/** What the last stage of a Dockerfile has: the program and `npm ci --omit=dev`, which it cannot write, a user without rights or a home, and no variables. */
export function dockerLayout(packing) {
  const folder = install(packing, 'docker', { shared: 'moved', network: true });
  run('npm', ['ci', '--omit=dev', '--no-audit', '--no-fund'], { cwd: folder });
  if (existsSync(join(folder, 'node_modules/fflate'))) throw new Error('npm ci --omit=dev installed what is for development');
  const { away, expected } = moveAway(packing, folder, ['./main.js']);
  for (const path of [packing.work, join(packing.work, 'away')]) chmodSync(path, 0o755);
  freeze(away);
  const nobody = process.getuid?.() === 0 ? { uid: 65534, gid: 65534 } : {};
  const env = { NODE_ENV: 'production', HOME: '/nonexistent' };
  for (const program of ['main.js', 'main.cjs'])
    same(run(process.execPath, [join(away, program)], { cwd: '/', env, ...nobody }), expected, program);
}

/**
 * A desktop program's two halves, without Electron, whose program npm does not have. The main process is Node, with the marks of Electron; a window's
 * page has an address that begins with file:.
 */
export async function electronHalves(packing) {
  const folder = install(packing, 'electron', { shared: 'moved', network: true });
  for (const half of ['main', 'window']) run('npm', ['run', half], { cwd: folder });
  writeFileSync(
    join(folder, 'out/window/index.html'),
    '<!doctype html><meta charset="utf-8" /><title>consumer</title><script src="window.js"></script>',
  );
  cpSync(join(folder, 'host.cjs'), join(folder, 'out/main/host.cjs'));
  const { away, expected } = moveAway(packing, folder, ['out/main/main.mjs', 'out/window/window.js']);
  for (const program of ['main.mjs', 'main.cjs']) {
    const at = join(away, 'out/main');
    same(run(process.execPath, [join(at, 'host.cjs'), join(at, program)], { cwd: packing.work }), expected, program);
  }
  const page = pathToFileURL(join(away, 'out/window/index.html')).href;
  const found = JSON.parse(await inPage(page, (own) => own.evaluate(() => globalThis.answer)));
  const { vector, index } = JSON.parse(expected);
  same([found.vector, found.worker, found.index], [vector, vector, index], 'the window');
  return `the window has ${found.threads === 2 ? 'threads' : `no threads: ${found.threads}`}`;
}
