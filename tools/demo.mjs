// `npm run demo [-- [--build] [--rival] [MODEL_DIR]]`: sets up, builds, then serves and opens the demo page; with --build, writes it to demo/dist
// as files for any static host. MODEL_DIR is a checkpoint's folder; demo/vite.config.ts reads it from WATTN_DEMO_MODEL. --rival installs
// transformers.js into build/rivals and serves it too, for the page Proof to compare with.
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { fail, root } from './lib/shell.mjs';

const words = process.argv.slice(2);
const toFiles = words.includes('--build');
const withRival = words.includes('--rival');
const [folder, ...rest] = words.filter((word) => word !== '--build' && word !== '--rival');
if (rest.length > 0 || folder?.startsWith('-')) fail(`expected [--build] [--rival] [MODEL_DIR], found ${words.join(' ')}`);
if (folder && !existsSync(join(folder, 'config.json'))) fail(`${folder} is not a checkpoint's folder: it has no config.json`);
if (folder) process.env.WATTN_DEMO_MODEL = resolve(folder);
if (withRival) {
  const rivals = join(root, 'build/rivals');
  const modules = join(rivals, 'node_modules');
  if (!existsSync(join(modules, '@huggingface/transformers'))) {
    mkdirSync(rivals, { recursive: true });
    if (!existsSync(join(rivals, 'package.json'))) writeFileSync(join(rivals, 'package.json'), '{}');
    const args = ['install', '--ignore-scripts', '--no-audit', '--no-fund', '@huggingface/transformers@4.3.1'];
    if (spawnSync('npm', args, { cwd: rivals, stdio: 'inherit' }).status !== 0) fail('npm could not install transformers.js');
  }
  process.env.WATTN_DEMO_RIVAL = modules;
}

const built = spawnSync(process.execPath, [join(root, 'tools/run.mjs'), 'build'], { stdio: 'inherit' });
if (built.status !== 0) process.exit(1);
const vite = await import('vite'); // a fresh clone has it only now
const configFile = join(root, 'demo/vite.config.ts');
if (toFiles) {
  await vite.build({ configFile, logLevel: 'warn' });
  console.log('the page is in demo/dist: copy it to any static host');
} else {
  const server = await vite.createServer({ root: join(root, 'demo'), configFile, server: { open: !process.env.CI } });
  await server.listen();
  server.printUrls();
}
