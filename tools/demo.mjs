// `npm run demo [-- MODEL_DIR]`: set-up, build, then the demo page, served and opened. MODEL_DIR is a checkpoint's folder;
// demo/vite.config.ts finds it in WATTN_DEMO_MODEL and serves it to the page.
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { fail, root } from './lib/shell.mjs';

const folder = process.argv[2];
if (folder && !existsSync(join(folder, 'config.json'))) fail(`${folder} is no checkpoint's folder: it has no config.json`);
if (folder) process.env.WATTN_DEMO_MODEL = resolve(folder);

const built = spawnSync(process.execPath, [join(root, 'tools/run.mjs'), 'build'], { stdio: 'inherit' });
if (built.status !== 0) process.exit(1);
const { createServer } = await import('vite'); // a fresh clone has it only now
const server = await createServer({
  root: join(root, 'demo'),
  configFile: join(root, 'demo/vite.config.ts'),
  server: { open: !process.env.CI },
});
await server.listen();
server.printUrls();
