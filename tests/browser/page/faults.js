// Makes a page's storage calls fail, or ends the page at one of them. page.js imports this file; a test calls, for n = 1, 2, .. until a run makes
// fewer calls:
//
//     await page.call('failNthBrowserCall', n, { error: 'QuotaExceededError' });
//     const said = await page.call('index', 'notes', { store: 'opfs' }, 'add', documents);
//     const made = await page.call('endBrowserFaults'); // the names of the calls that were made
//
// dieAtNthBrowserCall(n): the n-th call and all that follow never return; the test waits with page.counts('browserDeaths', 0), and closes the page.
const kCalls = {
  IDBFactory: ['open'],
  IDBDatabase: ['transaction'],
  IDBObjectStore: ['add', 'put', 'get', 'getAll', 'getKey', 'getAllKeys', 'delete', 'count', 'openCursor', 'openKeyCursor'],
  StorageManager: ['getDirectory'],
  FileSystemDirectoryHandle: ['getFileHandle', 'getDirectoryHandle', 'removeEntry'],
  FileSystemFileHandle: ['createWritable', 'getFile'],
  FileSystemWritableFileStream: ['write', 'close', 'truncate'],
  CacheStorage: ['open', 'delete'],
  Cache: ['put', 'match', 'delete', 'keys'],
  LockManager: ['request'],
};

let following; // { nth, how, made, isDead }
globalThis.browserDeaths = 0;

const failed = (name, call) => new DOMException(`made by a test, ${call}`, name);

/** The same object, whose events nobody hears. */
function deaf(target) {
  const silent = { get: () => null, set: () => {}, configurable: true }; // two calls may reach the same object
  for (const name of ['onabort', 'oncomplete', 'onerror', 'onsuccess', 'onupgradeneeded', 'onblocked'])
    Object.defineProperty(target, name, silent);
  target.addEventListener = () => {};
  return target;
}

/** A call of IndexedDB's in a page that is dead: what it does is undone, and nobody hears of it. */
function unheard(made) {
  if (made.transaction) deaf(made.transaction).abort();
  return deaf(made);
}

function wrapped(type, name, original) {
  const isIdb = type.startsWith('IDB');
  const call = `${type}.${name}`;
  return function (...args) {
    if (!following) return original.apply(this, args);
    const at = following.made.push(call);
    const { nth, dies, error = 'UnknownError', after, aborts } = following;
    if (dies && at >= nth) {
      globalThis.browserDeaths = at - nth + 1;
      if (!isIdb) return new Promise(() => {});
      return unheard(original.apply(this, args));
    }
    if (at !== nth) return original.apply(this, args);
    if (isIdb && aborts && name !== 'open' && name !== 'transaction') {
      const request = original.apply(this, args);
      request.transaction.abort(); // as when the disk is full
      return request;
    }
    if (isIdb) throw failed(error, call);
    if (!after) return Promise.reject(failed(error, call));
    return Promise.resolve(original.apply(this, args)).then(() => Promise.reject(failed(error, call)));
  };
}

for (const [type, names] of Object.entries(kCalls)) {
  const prototype = globalThis[type]?.prototype; // an engine may lack some
  for (const name of names) if (prototype?.[name]) prototype[name] = wrapped(type, name, prototype[name]);
}

/**
 * The n-th call from now on fails. error: the DOMException's name. after: it is done, and fails then (not in IndexedDB). aborts: in IndexedDB, its transaction is
 * aborted; otherwise the call throws.
 */
globalThis.failNthBrowserCall = (nth, how = {}) => void (following = { ...how, nth, made: [] });
globalThis.dieAtNthBrowserCall = (nth) => void (following = { nth, dies: true, made: [] });
globalThis.endBrowserFaults = () => {
  const { made = [] } = following ?? {};
  following = undefined;
  return made;
};
