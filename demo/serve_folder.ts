// Serves the files of folders, read-only, as any static host does: a file that is not there is a 404.
import { createReadStream, statSync } from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { extname, normalize, resolve, sep } from 'node:path';

function find(folder: string, url: string): { path: string; size: number } | undefined {
  try {
    const name = decodeURIComponent(new URL(url, 'http://localhost').pathname);
    const path = resolve(folder, `.${normalize(name)}`);
    if (!path.startsWith(resolve(folder) + sep) || name.includes('/.')) return undefined;
    const stats = statSync(path);
    return stats.isFile() ? { path, size: stats.size } : undefined;
  } catch {
    return undefined;
  }
}

const kTypes: Record<string, string> = {
  '.json': 'application/json',
  '.js': 'text/javascript',
  '.mjs': 'text/javascript',
  '.wasm': 'application/wasm',
};

/** folders: the first that has a file answers. */
export function serveFolder(...folders: string[]) {
  return (request: IncomingMessage, response: ServerResponse): void => {
    const file = folders.map((folder) => find(folder, request.url ?? '/')).find((found) => found);
    if (!file) {
      response.writeHead(404, { 'content-type': 'text/plain' }).end('no such file');
      return;
    }
    response.writeHead(200, {
      'content-type': kTypes[extname(file.path)] ?? 'application/octet-stream',
      'content-length': file.size,
      'cache-control': 'no-cache',
      'cross-origin-embedder-policy': 'require-corp', // workers of an isolated page need it
    });
    if (request.method === 'HEAD') response.end();
    else
      createReadStream(file.path)
        .on('error', () => response.destroy())
        .pipe(response);
  };
}
