// Serves the files of one folder, read-only, as any static host does: a file that is not there is a 404.
import { createReadStream, statSync } from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { normalize, resolve, sep } from 'node:path';

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

export function serveFolder(folder: string) {
  return (request: IncomingMessage, response: ServerResponse): void => {
    const file = find(folder, request.url ?? '/');
    if (!file) {
      response.writeHead(404, { 'content-type': 'text/plain' }).end('no such file');
      return;
    }
    const type = file.path.endsWith('.json') ? 'application/json' : 'application/octet-stream';
    response.writeHead(200, { 'content-type': type, 'content-length': file.size, 'cache-control': 'no-cache' });
    if (request.method === 'HEAD') response.end();
    else
      createReadStream(file.path)
        .on('error', () => response.destroy())
        .pipe(response);
  };
}
