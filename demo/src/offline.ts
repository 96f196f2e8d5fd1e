// After the first visit the page needs no network: a service worker keeps its files (service_worker.js).

let asked = false;

/** To be called when the page is usable, so that the keeping does not slow the first visit down. */
export function keepForOffline(): void {
  if (asked || !import.meta.env.PROD || !('serviceWorker' in navigator)) return;
  asked = true;
  // Where it is forbidden (a private window, a page that is not secure), the page works as well, with a network.
  navigator.serviceWorker.register('./service_worker.js').catch(() => {});
}
