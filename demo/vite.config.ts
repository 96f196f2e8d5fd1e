// The demo page: `npm run demo` serves it by this config, `npx vite build demo` writes static files to demo/dist.
// WATTN_DEMO_MODEL: a checkpoint's folder. It is served under model/, and the page loads it at once. A build made with it
// expects that folder beside its index.html; the folder itself is not copied.
import preact from '@preact/preset-vite';
import { readFileSync } from 'node:fs';
import { basename } from 'node:path';
import { fileURLToPath } from 'node:url';
import { defineConfig, type HtmlTagDescriptor, type Plugin } from 'vite';
import { serveFolder } from './serve_folder.js';

const here = (path: string) => fileURLToPath(new URL(path, import.meta.url));
const { version } = JSON.parse(readFileSync(here('../package.json'), 'utf8')) as { version: string };
const model = process.env.WATTN_DEMO_MODEL;

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

/** Only in what is built: the development server sends styles inside scripts. */
const strictPolicy: Plugin = {
  name: 'wattn-demo-policy',
  apply: 'build',
  transformIndexHtml: (): HtmlTagDescriptor[] => [
    { tag: 'meta', attrs: { 'http-equiv': 'Content-Security-Policy', content: kPolicy }, injectTo: 'head-prepend' },
  ],
};

/** Serves the model's folder, and tells the page so. */
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

export default defineConfig({
  root: here('.'),
  base: './',
  appType: 'mpa', // a file that is not there is a 404, never the start page
  plugins: [preact(), strictPolicy, ...(model ? [demoModel(model)] : [])],
  resolve: {
    // What ships, not its sources.
    alias: [
      { find: /^wattn$/, replacement: here('../dist/index.js') },
      { find: /^wattn\/nn$/, replacement: here('../dist/nn_entry.js') },
    ],
  },
  worker: { format: 'es', rolldownOptions: { checks: { pluginTimings: false } } },
  define: { __WATTN_VERSION__: JSON.stringify(version) },
  server: { fs: { allow: [here('.'), here('../dist'), here('../node_modules')] } },
  preview: { headers: { 'content-security-policy': kPolicy, 'x-content-type-options': 'nosniff' } },
  build: { outDir: here('dist'), emptyOutDir: true, target: 'es2022', rolldownOptions: { checks: { pluginTimings: false } } },
});
