// Files that are smaller on their way, and a name for all of them.

/** What gzip files begin with. */
const isGzip = (bytes: Uint8Array): boolean => bytes[0] === 0x1f && bytes[1] === 0x8b;

const through = async (bytes: Uint8Array, stream: CompressionStream | DecompressionStream): Promise<Uint8Array<ArrayBuffer>> =>
  new Uint8Array(await new Response(new Blob([bytes as Uint8Array<ArrayBuffer>]).stream().pipeThrough(stream)).arrayBuffer());

/** A marked copy if gzip does not make it smaller: no file of an index begins as gzip's do. */
export async function gzipped(bytes: Uint8Array): Promise<Uint8Array> {
  const packed = await through(bytes, new CompressionStream('gzip'));
  return packed.length < bytes.length || isGzip(bytes) ? packed : bytes;
}

export const ungzipped = async (bytes: Uint8Array): Promise<Uint8Array> =>
  isGzip(bytes) ? through(bytes, new DecompressionStream('gzip')) : bytes;

/** A short name for the contents of files. */
export async function hashOf(files: ReadonlyMap<string, Uint8Array>, more: string): Promise<string> {
  const parts: Uint8Array[] = [new TextEncoder().encode(more)];
  for (const [name, bytes] of files) parts.push(new TextEncoder().encode(`\n${name} ${bytes.length}\n`), bytes);
  const all = new Uint8Array(await new Blob(parts as Uint8Array<ArrayBuffer>[]).arrayBuffer());
  const digest = new Uint8Array(await crypto.subtle.digest('SHA-256', all));
  return Array.from(digest.subarray(0, 8), (byte) => byte.toString(16).padStart(2, '0')).join('');
}
