// For wattn/inline: unpacks bytes that tools/bundle.mjs embedded in a script, gzipped and in base64.
import { UnsupportedError } from '../core/errors.js';

export async function unpack(packed: string): Promise<Uint8Array> {
  if (typeof DecompressionStream !== 'function') {
    throw new UnsupportedError(
      'wattn/inline: this engine has no DecompressionStream (every engine since 2023 has); use the entry wattn, or set env.wasm',
    );
  }
  const zipped = Uint8Array.from(atob(packed), (unit) => unit.charCodeAt(0));
  const stream = new Blob([zipped]).stream().pipeThrough(new DecompressionStream('gzip'));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}
