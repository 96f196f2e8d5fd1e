// The demo page: `npm run demo` serves it with this config, `npx vite build demo` writes static files to demo/dist.
// WATTN_DEMO_URL: where the page will be, ending in /: the picture of a link needs a whole address.
// WATTN_DEMO_MODEL: a checkpoint's folder. It is served under model/, and the page loads it on start. A build made with it
// expects that folder beside its index.html; the folder itself is not copied. WATTN_DEMO_RIVAL: a node_modules with @huggingface/transformers,
// which is served under rival/ for the page Proof to measure. The same holds of a build made with it.
import preact from '@preact/preset-vite';
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { basename } from 'node:path';
import { fileURLToPath } from 'node:url';
import { defineConfig, type HtmlTagDescriptor, type Plugin, type PreviewServer, type ViteDevServer } from 'vite';
import { serveFolder } from './serve_folder.js';

const here = (path: string) => fileURLToPath(new URL(path, import.meta.url));
const about = JSON.parse(readFileSync(here('../package.json'), 'utf8')) as {
  version: string;
  homepage?: string;
  repository?: { url: string };
};
// Publishing sets homepage and repository; until then, the page links to the package alone.
const links = {
  Package: 'https://www.npmjs.com/package/wattn',
  ...(about.homepage && { Documentation: about.homepage }),
  ...(about.repository && { Source: about.repository.url.replace(/^git\+/, '').replace(/\.git$/, '') }),
};
const model = process.env.WATTN_DEMO_MODEL;
const rival = process.env.WATTN_DEMO_RIVAL;

// https: in connect-src is for hubs, which answer from hosts of their own choosing. data: is for Pico's icons.
const kPolicy = [
  "default-src 'none'",
  "script-src 'self' 'wasm-unsafe-eval'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self' https:",
  "base-uri 'none'",
  "form-action 'none'",
].join('; ');

// Shared memory for threads needs these two headers. Without them the page works with one thread.
const kIsolated = { 'cross-origin-opener-policy': 'same-origin', 'cross-origin-embedder-policy': 'require-corp' };

/** Only in builds: the development server sends styles inside scripts. */
const strictPolicy: Plugin = {
  name: 'wattn-demo-policy',
  apply: 'build',
  transformIndexHtml: (): HtmlTagDescriptor[] => [
    { tag: 'meta', attrs: { 'http-equiv': 'Content-Security-Policy', content: kPolicy }, injectTo: 'head-prepend' },
  ],
};

/** Links to the page show a picture, whose address has to be a whole one. */
const preview: Plugin = {
  name: 'wattn-demo-preview',
  transformIndexHtml: (html) => html.replace('%WATTN_PAGE%', process.env.WATTN_DEMO_URL ?? './'),
};

/** service_worker.js with the list of built files, and a version that changes when any of them does. */
const offline: Plugin = {
  name: 'wattn-demo-offline',
  apply: 'build',
  enforce: 'post',
  generateBundle(_, bundle) {
    // A model that a visitor has to ask for is not fetched in the background.
    const files = Object.keys(bundle).filter((name) => !/\.map$|wattn-(base|story)/.test(name));
    const hash = createHash('sha256');
    for (const name of files.sort()) {
      const output = bundle[name];
      hash.update(name).update(output?.type === 'asset' ? output.source : (output?.code ?? ''));
    }
    const source = readFileSync(here('service_worker.js'), 'utf8')
      .replace('__FILES__', JSON.stringify(['./', './favicon.svg', ...files.map((name) => `./${name}`)]))
      .replace('__VERSION__', JSON.stringify(hash.digest('hex').slice(0, 16)));
    this.emitFile({ type: 'asset', fileName: 'service_worker.js', source });
  },
};

/** Serves the model's folder, and tells the page about it. */
function demoModel(folder: string): Plugin {
  return {
    name: 'wattn-demo-model',
    configureServer: ({ middlewares }) => void middlewares.use('/model', serveFolder(folder)),
    configurePreviewServer: ({ middlewares }) => void middlewares.use('/model', serveFolder(folder)),
    transformIndexHtml: (): HtmlTagDescriptor[] => [
      { tag: 'meta', attrs: { name: 'wattn-model', content: './model/', 'data-name': basename(folder) }, injectTo: 'head' },
    ],
  };
}

/** Serves transformers.js and the files that it loads, and tells the page about them. */
function demoRival(modules: string): Plugin {
  const serve = serveFolder(`${modules}/@huggingface/transformers/dist`, `${modules}/onnxruntime-web/dist`);
  const use = ({ middlewares }: ViteDevServer | PreviewServer) => void middlewares.use('/rival', serve);
  return {
    name: 'wattn-demo-rival',
    configureServer: use,
    configurePreviewServer: use,
    transformIndexHtml: (): HtmlTagDescriptor[] => [
      { tag: 'meta', attrs: { name: 'wattn-rival', content: './rival/' }, injectTo: 'head' },
    ],
  };
}

export default defineConfig({
  root: here('.'),
  base: './',
  appType: 'mpa', // a file that is not there is a 404, never the start page
  plugins: [preact(), strictPolicy, preview, offline, ...(model ? [demoModel(model)] : []), ...(rival ? [demoRival(rival)] : [])],
  resolve: {
    // What ships, not its sources.
    alias: [
      { find: /^wattn$/, replacement: here('../dist/index.js') },
      { find: /^wattn\/nn$/, replacement: here('../dist/nn_entry.js') },
      { find: /^wattn\/train$/, replacement: here('../dist/train_entry.js') },
    ],
  },
  worker: { format: 'es', rolldownOptions: { checks: { pluginTimings: false } } },
  define: { __WATTN_VERSION__: JSON.stringify(about.version), __WATTN_LINKS__: JSON.stringify(links) },
  server: {
    headers: kIsolated,
    fs: { allow: [here('.'), here('../dist'), here('../docs'), here('../models'), here('../node_modules')] },
  },
  preview: { headers: { ...kIsolated, 'content-security-policy': kPolicy, 'x-content-type-options': 'nosniff' } },
  build: {
    outDir: here('dist'),
    emptyOutDir: true,
    target: 'es2022',
    rolldownOptions: { input: [here('index.html'), here('proof.html')], checks: { pluginTimings: false } },
  },
});
