// The page's service worker: what was loaded once is there without a network. Its address names the build, whose files have a cache of their own.
const kPrefix = 'page ';
const kCache = kPrefix + new URL(location).searchParams.get('build');

addEventListener('install', (event) => event.waitUntil(skipWaiting()));
addEventListener('activate', (event) => event.waitUntil(takeOver()));
addEventListener('fetch', (event) => {
  const { method, url } = event.request;
  if (method === 'GET' && url.startsWith(registration.scope)) event.respondWith(answer(event.request));
});

async function takeOver() {
  const old = (await caches.keys()).filter((name) => name.startsWith(kPrefix) && name !== kCache);
  await Promise.all(old.map((name) => caches.delete(name)));
  await clients.claim();
}

/** Files in assets/ are named after their content, so a copy is as good as the original. Of all others the network's come first. */
async function answer(request) {
  const cache = await caches.open(kCache);
  const kept = await cache.match(request);
  if (kept && new URL(request.url).pathname.includes('/assets/')) return kept;
  try {
    const fresh = await fetch(request);
    if (fresh.status === 200) await cache.put(request, fresh.clone());
    return fresh;
  } catch (error) {
    if (kept) return kept;
    throw error;
  }
}
