import { defineConfig } from 'vite';

// With these headers wattn uses several threads. A server of the built page should send them, too.
const headers = {
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Cross-Origin-Embedder-Policy': 'require-corp',
};

// Relative addresses, so that the built page works in any folder of a server.
export default defineConfig({ base: './', server: { headers }, preview: { headers } });
