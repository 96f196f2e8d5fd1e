// Keeps the page for later visits without a network: every file of this build, fetched once in the background of the first visit,
// which it leaves alone. What is not of the build (a hub's models, which the library keeps itself) passes through. The build puts
// the two constants in.
const kFiles = __FILES__;
const kCache = 'wattn-demo-' + __VERSION__;

addEventListener('install', (event) => {
  const keep = async () => {
    const cache = await caches.open(kCache);
    await cache.addAll(kFiles);
  };
  event.waitUntil(keep());
});

// A new build waits until no page of the old one is open: its panels may still have code to fetch.
addEventListener('activate', (event) => {
  const clean = async () => {
    for (const name of await caches.keys()) if (name.startsWith('wattn-demo-') && name !== kCache) await caches.delete(name);
  };
  event.waitUntil(clean());
});

addEventListener('fetch', (event) => {
  const { request } = event;
  if (request.method !== 'GET' || new URL(request.url).origin !== location.origin) return;
  const answer = async () => {
    const cache = await caches.open(kCache);
    // Many hosts answer /proof with proof.html.
    const page = request.mode === 'navigate' && `${request.url.replace(/[?#].*/, '')}.html`;
    return (await cache.match(request, { ignoreSearch: true })) ?? (page ? await cache.match(page) : undefined) ?? fetch(request);
  };
  event.respondWith(answer());
});
