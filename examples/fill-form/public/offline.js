// A service worker: what this site gave once is there without it. The model of another site is in wattn's own cache.
addEventListener('install', (event) => event.waitUntil(skipWaiting()));
addEventListener('activate', (event) => event.waitUntil(clients.claim()));
addEventListener('fetch', (event) => {
  const { request } = event;
  if (request.method !== 'GET' || new URL(request.url).origin !== location.origin) return;
  const fresh = fetch(request).then(async (answer) => {
    if (answer.status === 200 || answer.status === 404) await (await caches.open('page')).put(request, answer.clone());
    return answer;
  });
  event.respondWith(fresh.catch(async () => (await caches.match(request)) ?? Response.error()));
});
