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
    worker.addEventListener('error', ({ message }) => reject(new Error(message || 'the worker of the map could not start')));
    signal.addEventListener('abort', () => reject(signal.reason as Error));
    if (signal.aborted) reject(signal.reason as Error);
    else worker.postMessage(chunks, [chunks.vectors.buffer]);
  }).finally(() => worker.terminate());
}

/** Of each cluster's candidates the nearest to its middle. */
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

/** The chunks of an index, in its order, and the map of them. options: how texts become vectors; their signal ends the work. */
export async function arrange(
  index: Index,
  embed: FeatureExtractionPipeline,
  options: EmbedOptions & { signal: AbortSignal },
): Promise<{ pieces: Piece[]; picture: Picture }> {
  const { chunks, dim } = index.info();
  const pieces: Piece[] = [];
  const vectors = new Float32Array(chunks * dim);
  for (const { id, text, start, end, vector } of index.chunks()) {
    if (vector) vectors.set(vector, pieces.length * dim);
    pieces.push({ id, name: index.get(id)?.name as string, text, start, end });
    if (pieces.length % kChunksAtOnce === 0) await new Promise((resolve) => setTimeout(resolve));
  }
  const layout = await layOut({ texts: pieces.map(({ text }) => text), vectors }, options.signal);
  const { plane, points, labels } = layout;
  return { pieces, picture: { plane, points, labels, terms: await namesOf(embed, layout, options) } };
}
