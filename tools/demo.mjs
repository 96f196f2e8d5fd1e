// `npm run demo [-- [--build] [MODEL_DIR]]`: set-up, build, then the demo page, served and opened; with --build, written to demo/dist
// as files for any static host. MODEL_DIR is a checkpoint's folder; demo/vite.config.ts finds it in WATTN_DEMO_MODEL.
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { fail, root } from './lib/shell.mjs';

const words = process.argv.slice(2);
const toFiles = words.includes('--build');
const [folder, ...rest] = words.filter((word) => word !== '--build');
if (rest.length > 0 || folder?.startsWith('-')) fail(`expected [--build] [MODEL_DIR], found ${words.join(' ')}`);
if (folder && !existsSync(join(folder, 'config.json'))) fail(`${folder} is no checkpoint's folder: it has no config.json`);
if (folder) process.env.WATTN_DEMO_MODEL = resolve(folder);

const built = spawnSync(process.execPath, [join(root, 'tools/run.mjs'), 'build'], { stdio: 'inherit' });
if (built.status !== 0) process.exit(1);
const vite = await import('vite'); // a fresh clone has it only now
const configFile = join(root, 'demo/vite.config.ts');
if (toFiles) {
  await vite.build({ configFile, logLevel: 'warn' });
  console.log('demo/dist holds the page: put it on any static host');
} else {
  const server = await vite.createServer({ root: join(root, 'demo'), configFile, server: { open: !process.env.CI } });
  await server.listen();
  server.printUrls();
}
