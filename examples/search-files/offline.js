// A service worker: what the network gave once is there without it.
addEventListener('install', (event) => event.waitUntil(caches.open('page').then((page) => page.addAll(['./', './main.js']))));
addEventListener('activate', (event) => event.waitUntil(clients.claim()));
addEventListener('fetch', (event) => {
  const fresh = fetch(event.request).then(async (answer) => {
    if (answer.ok) await (await caches.open('page')).put(event.request, answer.clone());
    return answer;
  });
  event.respondWith(fresh.catch(() => caches.match(event.request)));
});
