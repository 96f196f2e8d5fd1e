// Makes dist/, what the package ships: bundles web/ with esbuild, copies the wasm files, emits the types.
// Needs the two wasm builds (npm run build does them first).
import { build } from 'esbuild';
import { chmodSync, copyFileSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { brotliCompressSync } from 'node:zlib';
import { fail, must, root } from './lib/shell.mjs';

const dist = join(root, 'dist');
const built = (variant, file) => join(root, 'build', `wasm-${variant}`, file);

/** One glue file serves both wasm files, and both are of the same build; anything else must not ship. */
function checkPair() {
  for (const file of ['wattn.mjs', 'build_id.h']) {
    const [simd, relaxed] = ['simd', 'relaxed'].map((variant) => readFileSync(built(variant, file), 'utf8'));
    if (simd !== relaxed) fail(`${file} differs between build/wasm-simd and build/wasm-relaxed; build both again`);
  }
  return readFileSync(built('simd', 'build_id.h'), 'utf8').split('"')[1];
}

/** Entries of web/ and the platform each is for; an entry without its source file is left out. */
const entries = [
  { name: 'index', platform: 'browser' },
  { name: 'worker', platform: 'browser' },
  { name: 'node', platform: 'node' },
  { name: 'tokenizer_entry', platform: 'browser' },
  { name: 'tokenizer_entry_node', platform: 'node' },
  { name: 'node_worker', platform: 'node' },
  { name: 'cli', platform: 'node', external: ['./node.js'] }, // the library beside it, not a second copy
];

async function bundle(buildId) {
  for (const { name, platform, external = [] } of entries) {
    const source = join(root, 'web', `${name}.ts`);
    if (!existsSync(source)) continue;
    await build({
      entryPoints: [source],
      outfile: join(dist, `${name}.js`),
      bundle: true,
      format: 'esm',
      platform,
      target: platform === 'node' ? 'node20' : ['chrome91', 'firefox89', 'safari16.4'], // the first with wasm SIMD
      minify: true,
      legalComments: 'none',
      charset: 'utf8',
      external,
      define: { __WATTN_BUILD_ID__: JSON.stringify(buildId) },
      logLevel: 'warning',
    });
  }
  if (existsSync(join(dist, 'cli.js'))) chmodSync(join(dist, 'cli.js'), 0o755);
}

/** tsc writes a file for each module; only those that the entries lead to are part of what a user sees. */
function emitTypes() {
  must(process.execPath, [join(root, 'node_modules/typescript/bin/tsc'), '-p', 'tsconfig.types.json'], { cwd: root });
  const kept = new Set(['index.d.ts', 'tokenizer_entry.d.ts']);
  for (const file of kept) {
    const text = readFileSync(join(dist, file), 'utf8');
    for (const [, name] of text.matchAll(/['"]\.\/([\w/]+)\.js['"]/g)) kept.add(`${name}.d.ts`);
  }
  for (const file of readdirSync(dist)) if (file.endsWith('.d.ts') && !kept.has(file)) rmSync(join(dist, file));
}

function brotliSize(file) {
  return `${file} ${(brotliCompressSync(readFileSync(join(dist, file))).length / 1000).toFixed(1)} kB`;
}

const buildId = checkPair();
rmSync(dist, { recursive: true, force: true });
mkdirSync(dist);
await bundle(buildId).catch(() => process.exit(1)); // esbuild has said why
for (const variant of ['simd', 'relaxed']) copyFileSync(built(variant, 'wattn.wasm'), join(dist, `wattn-${variant}.wasm`));
copyFileSync(built('simd', 'wattn-tokenizer.wasm'), join(dist, 'wattn-tokenizer.wasm'));
emitTypes();
console.log(
  `note: brotli: ${['index.js', 'wattn-simd.wasm', 'wattn-relaxed.wasm', 'tokenizer_entry.js', 'wattn-tokenizer.wasm'].map(brotliSize).join(', ')}`,
);
