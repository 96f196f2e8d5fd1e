// Caches everything that the page loads from its server, except models, and responds from the cache when the server is gone.
import * as wattn from '/dist/inline.js';
import { answerWith } from './answer.js';

const answer = answerWith(wattn);

self.addEventListener('install', () => self.skipWaiting());
self.addEventListener('activate', (event) => event.waitUntil(self.clients.claim()));
self.addEventListener('message', (event) => event.waitUntil(answer(event)));

async function kept(request) {
  const store = await caches.open('page');
  try {
    const response = await fetch(request);
    if (response.ok) await store.put(request, response.clone());
    return response;
  } catch (error) {
    const found = await store.match(request);
    if (found) return found;
    throw error;
  }
}

self.addEventListener('fetch', (event) => {
  if (!new URL(event.request.url).pathname.startsWith('/org/')) event.respondWith(kept(event.request));
});
