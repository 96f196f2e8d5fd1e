// Shared by benchmarks against transformers.js: the installed library, the checkpoint in both forms, and a server for all of it.
import { cpSync, existsSync, mkdirSync, readFileSync, readdirSync } from 'node:fs';
import { createServer } from 'node:http';
import { extname, join, normalize } from 'node:path';
import { installRivals, rivals } from '../../../tools/lib/rivals.mjs';
import { root } from '../../../tools/lib/shell.mjs';

export { rivals, root };
export const checkpoint = join(process.env.WATTN_MODELS_DIR ?? join(root, '.models'), 'all-MiniLM-L6-v2');
const twin = process.env.WATTN_ONNX_DIR ?? join(root, 'build/onnx');
export const kRival = '@huggingface/transformers@4.3.1';
export const median = (values) => values.toSorted((a, b) => a - b)[values.length >> 1];

/** Installs the rival and gives it the checkpoint. Ends the process if something is missing. needed: more files, and how to get each. */
export function prepare(needed = []) {
  for (const [path, how] of [
    [join(checkpoint, 'model.safetensors'), 'npm run test:models brings it'],
    [join(twin, 'model_quantized.onnx'), 'python bench/make_onnx.py CHECKPOINT build/onnx makes it'],
    ...needed,
  ]) {
    if (!existsSync(path)) {
      console.log(`skipped: no ${path} (${how})`);
      process.exit(0);
    }
  }
  installRivals(kRival);
  // The checkpoint as transformers.js wants it.
  const converted = join(rivals, 'models/minilm');
  mkdirSync(join(converted, 'onnx'), { recursive: true });
  for (const name of readdirSync(checkpoint)) if (name.endsWith('.json')) cpSync(join(checkpoint, name), join(converted, name));
  for (const name of readdirSync(twin)) if (name.endsWith('.onnx')) cpSync(join(twin, name), join(converted, 'onnx', name));
}

const kTypes = {
  '.html': 'text/html',
  '.js': 'text/javascript',
  '.mjs': 'text/javascript',
  '.json': 'application/json',
  '.wasm': 'application/wasm',
};
const kFolders = [
  ['/wattn/', join(root, 'dist')],
  ['/packed/', join(root, 'build/bench')],
  ['/model/', checkpoint],
  ['/models/', join(rivals, 'models')],
  ['/rivals/', join(rivals, 'node_modules')],
];
export const kImportMap = `<script type="importmap">{"imports": {
  "onnxruntime-web": "/rivals/onnxruntime-web/dist/ort.wasm.min.mjs", "onnxruntime-web/webgpu": "/rivals/onnxruntime-web/dist/ort.wasm.min.mjs",
  "onnxruntime-common": "/rivals/onnxruntime-common/dist/esm/index.js"}}</script>`;

/** A server of both libraries and the checkpoint, and of a page at all other addresses. Returns its URL and how to close it. */
export async function serve(pageOf) {
  const server = createServer((request, response) => {
    const { pathname } = new URL(request.url, 'http://localhost');
    const path = normalize(pathname);
    const [prefix, folder] = kFolders.find(([start]) => path.startsWith(start)) ?? [];
    const page = { 'content-type': 'text/html', 'cache-control': 'no-store' };
    if (!prefix) return response.writeHead(200, page).end(pageOf(pathname));
    const file = join(folder, path.slice(prefix.length));
    if (!existsSync(file)) return response.writeHead(404).end();
    const body = readFileSync(file);
    const headers = {
      'content-type': kTypes[extname(file)] ?? 'application/octet-stream',
      'content-length': body.length,
      'cache-control': 'public, max-age=31536000, immutable',
    };
    return response.writeHead(200, headers).end(body);
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  const close = () => {
    server.closeAllConnections();
    server.close();
  };
  return { url: `http://127.0.0.1:${server.address().port}/`, close };
}
