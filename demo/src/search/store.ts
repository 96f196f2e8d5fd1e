// The browser's own database: one index for each model, found by the model's fingerprint.

const kDatabase = 'wattn-demo';
const kStore = 'indexes';

function open(): Promise<IDBDatabase> {
  return new Promise((resolve, reject) => {
    const request = indexedDB.open(kDatabase, 1);
    request.onupgradeneeded = () => void request.result.createObjectStore(kStore);
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });
}

async function run<T>(mode: IDBTransactionMode, act: (store: IDBObjectStore) => IDBRequest<T>): Promise<T> {
  const database = await open();
  try {
    return await new Promise<T>((resolve, reject) => {
      const transaction = database.transaction(kStore, mode);
      const request = act(transaction.objectStore(kStore));
      transaction.oncomplete = () => resolve(request.result);
      transaction.onabort = () => reject(transaction.error ?? request.error); // a full disk, for one
    });
  } finally {
    database.close();
  }
}

export const put = (key: string, value: unknown) => run('readwrite', (store) => store.put(value, key));
export const get = (key: string) => run<unknown>('readonly', (store) => store.get(key));
export const remove = (key: string) => run('readwrite', (store) => store.delete(key));
