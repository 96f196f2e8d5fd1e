// The map of an index: its chunks on a plane, in clusters with names.
import { semantic_search, Tensor, type EmbedOptions, type FeatureExtractionPipeline, type Index } from 'wattn';
import type { Chunks, Layout } from './map_worker.js';
import type { Piece, Picture } from './types.js';

const kNames = 3; // words that name a cluster
const kChunksAtOnce = 500; // read before the page gets its turn

/** One worker for one map: ending it is how the work is cancelled. */
function layOut(chunks: Chunks, signal: AbortSignal): Promise<Layout> {
  const worker = new Worker(new URL('./map_worker.ts', import.meta.url), { type: 'module' });
  return new Promise<Layout>((resolve, reject) => {
    worker.addEventListener('message', ({ data }: MessageEvent<Layout>) => resolve(data));
    worker.addEventListener('error', ({ message }) => reject(new Error(message || 'the map worker could not start')));
    signal.addEventListener('abort', () => reject(signal.reason as Error));
    if (signal.aborted) reject(signal.reason as Error);
    else worker.postMessage(chunks, [chunks.vectors.buffer]);
  }).finally(() => worker.terminate());
}

/** The nearest to its middle among each cluster's candidates. */
async function namesOf(
  embed: FeatureExtractionPipeline,
  { candidates, centroids }: Layout,
  options: EmbedOptions,
): Promise<string[][]> {
  const words = [...new Set(candidates.flat())];
  if (words.length === 0) return candidates;
  const middles = new Tensor('float32', centroids, [candidates.length, centroids.length / candidates.length]);
  const vectors = await embed.encode_document(words, options);
  return semantic_search(middles, vectors, { top_k: words.length }).map((hits, cluster) =>
    hits
      .map(({ corpus_id }) => words[corpus_id] as string)
      .filter((word) => candidates[cluster]?.includes(word))
      .slice(0, kNames),
  );
}

/** A map as JSON holds it, with as many digits as are seen. */
const toField = ({ plane, points, labels, terms }: Picture) => {
  const numbers = (floats: Iterable<number>) => Array.from(floats, (x) => Number(x.toPrecision(6)));
  const { mean, axes, shares } = plane;
  return { mean: numbers(mean), axes: axes.map(numbers), shares, points: numbers(points), labels: Array.from(labels), terms };
};

function ofField({ mean, axes, shares, points, labels, terms }: ReturnType<typeof toField>): Picture {
  const [first = [], second = []] = axes;
  const plane = { mean: Float64Array.from(mean), axes: [Float64Array.from(first), Float64Array.from(second)] as const, shares };
  return { plane: { ...plane, axes: [...plane.axes] }, points: Float32Array.from(points), labels: Int32Array.from(labels), terms };
}

/**
 * The chunks of an index, by the numbers of its texts, and the map of them, which stays in the index as a field of the first text. options: how
 * texts become vectors; their signal ends the work.
 */
export async function arrange(
  index: Index,
  embed: FeatureExtractionPipeline,
  options: EmbedOptions & { signal: AbortSignal },
): Promise<{ pieces: Piece[]; picture: Picture }> {
  const { dim } = index.info();
  const chunks: { piece: Piece; vector: Float32Array | undefined }[] = [];
  for (const { id, text, start, end, vector } of index.chunks()) {
    chunks.push({ piece: { id, name: index.get(id)?.name as string, text, start, end }, vector });
    if (chunks.length % kChunksAtOnce === 0) await new Promise((resolve) => setTimeout(resolve));
  }
  chunks.sort((a, b) => Number(a.piece.id) - Number(b.piece.id) || a.piece.start - b.piece.start); // a text that changed is the last
  const pieces = chunks.map(({ piece }) => piece);
  const kept = index.get('0')?.map as ReturnType<typeof toField> | undefined;
  if (kept?.labels.length === pieces.length) return { pieces, picture: ofField(kept) };
  const vectors = new Float32Array(chunks.length * dim);
  chunks.forEach(({ vector }, i) => vector && vectors.set(vector, i * dim));
  const layout = await layOut({ texts: pieces.map(({ text }) => text), vectors }, options.signal);
  const { plane, points, labels } = layout;
  const picture = { plane, points, labels, terms: await namesOf(embed, layout, options) };
  await index.update({ id: '0', map: toField(picture) }, { signal: options.signal });
  return { pieces, picture };
}
