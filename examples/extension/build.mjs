// Builds the extension in dist/ without a bundler: its own files, wattn's self-contained entry, and the model.
//   npm install && npm run build, then load dist/ unpacked at chrome://extensions
import { copyFileSync, cpSync, mkdirSync, rmSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const here = (path) => fileURLToPath(new URL(path, import.meta.url));
rmSync(here('dist'), { recursive: true, force: true });
mkdirSync(here('dist/wattn'), { recursive: true });
cpSync(here('src'), here('dist'), { recursive: true });
for (const file of ['inline.js', 'inline_files.js', 'wattn-default.gguf']) {
  copyFileSync(here(`node_modules/wattn/dist/${file}`), here(`dist/wattn/${file}`));
}
