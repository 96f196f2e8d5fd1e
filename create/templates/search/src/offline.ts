// Caches the built page for later visits without a network (public/offline.js). Development does not cache it.

/** Resolves when this build's service worker handles the page's requests, or cannot: then the page works, but not offline. */
export async function keepOffline(): Promise<void> {
  if (!import.meta.env.PROD || !('serviceWorker' in navigator)) return;
  const build = new URL(import.meta.url).pathname.split('/').at(-1); // named after its content
  try {
    await navigator.serviceWorker.register(`./offline.js?build=${build}`);
    await controlledBy(`build=${build}`);
    // What the page loaded before.
    const loaded = performance.getEntriesByType('resource').map(({ name }) => name);
    const own = loaded.filter((url) => url.startsWith(new URL('.', location.href).href));
    await Promise.all([location.href, ...own].map((url) => fetch(url)));
  } catch (error) {
    console.info('This page cannot be cached for offline use:', error);
  }
}

function controlledBy(build: string): Promise<void> {
  const isOurs = () => navigator.serviceWorker.controller?.scriptURL.endsWith(build) ?? false;
  return new Promise((resolve) => {
    const look = () => isOurs() && resolve();
    navigator.serviceWorker.addEventListener('controllerchange', look);
    look();
  });
}
