// The rows of a static index that are nearest to a query: those of the clusters whose centres are.
import { ByteReader, cosineOf } from './bytes.js';
import type { Files } from './files.js';
import { kNames, type Head } from './layout.js';

/** Bytes of clusters that a query reads at most. */
const kMostBytes = 80_000;

type Meaning = NonNullable<Head['meaning']>;

function readCluster(bytes: Uint8Array, name: string, dims: number): { rows: number[]; vectors: Uint8Array } {
  const reader = new ByteReader(bytes, name);
  const rows: number[] = [];
  let row = 0;
  for (let i = reader.number(); i > 0; --i) rows.push((row += reader.number()));
  return { rows, vectors: reader.raw(rows.length * dims) };
}

/** Cosines of rows, by row. query: of unit length. */
export async function nearRows(files: Files, { dims, sizes }: Meaning, query: Float32Array): Promise<Map<number, number>> {
  const centres = await files.get(kNames.centres, (bytes) => bytes);
  const nearness = sizes.map((_, i) => cosineOf(query, centres, i));
  const order = [...sizes.keys()].sort((a, b) => nearness[b]! - nearness[a]!);
  const some: number[] = [];
  let bytes = 0;
  for (const i of order) {
    bytes += sizes[i]! * (dims + 2);
    if (some.length > 0 && bytes > kMostBytes) break;
    some.push(i);
  }
  const cosines = new Map<number, number>();
  await Promise.all(
    some.map(async (i) => {
      const name = kNames.cluster(i);
      const { rows, vectors } = await files.get(name, (all) => readCluster(all, name, dims));
      rows.forEach((row, at) => cosines.set(row, cosineOf(query, vectors, at)));
    }),
  );
  return cosines;
}
