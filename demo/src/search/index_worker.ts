// Beside the page: cuts texts into pieces, lays them out as a map, searches, and keeps the index in the browser's database.
import { AutoTokenizer, k_means, semantic_search, Tensor, type Tokenizer } from 'wattn';
import { principalPlane, project, type Plane } from './pca.js';
import type { Answer, BuildCalls, Call, Index, IndexFacts, Picture, SearchCalls } from './protocol.js';
import { get, put, remove } from './store.js';
import { termsOf } from './terms.js';

const kVersion = 1; // of what is kept
const kMostClusters = 8;
const kNames = 3; // words that name a cluster
const kPiecesOfCluster = 5; // of fewer pieces, fewer clusters

let index: Index | undefined;
let tokenizer: Promise<Tokenizer> | undefined; // a worker sees one model only

const dimOf = ({ vectors, pieces }: Pick<Index, 'vectors' | 'pieces'>) => vectors.length / pieces.length;
const keyOf = (fingerprint: string) => `${kVersion} ${fingerprint}`;

/** An index whose clusters have no names yet. */
interface Arranged {
  facts: Omit<IndexFacts, 'picture' | 'built'>;
  vectors: Float32Array;
  plane: Plane;
  labels: Int32Array;
  /** [clusters, dim] */
  centroids: Tensor<'float32'>;
  candidates: string[][];
}

let arranged: Arranged | undefined;

function arrangeAll(facts: Arranged['facts'], vectors: Float32Array): Arranged {
  const { docs, pieces } = facts;
  const dim = vectors.length / pieces.length;
  const count = Math.max(1, Math.min(kMostClusters, Math.floor(pieces.length / kPiecesOfCluster)));
  const tensor = new Tensor('float32', vectors, [pieces.length, dim]);
  const { labels, centroids } = k_means(tensor, count, { n_init: 2, max_iterations: 50 });
  const texts = pieces.map(({ doc, start, end }) => docs[doc]?.text.slice(start, end) ?? '');
  const candidates = termsOf(texts, labels, count);
  return { facts, vectors, plane: principalPlane(vectors, dim), labels, centroids, candidates };
}

/** Of each cluster's candidates the nearest to its middle. */
function namesOf({ candidates, centroids }: Arranged, words: readonly string[], wordVectors: Float32Array): string[][] {
  if (words.length === 0) return candidates;
  const tensor = new Tensor('float32', wordVectors, [words.length, wordVectors.length / words.length]);
  return semantic_search(centroids, tensor, { top_k: words.length }).map((hits, cluster) =>
    hits
      .map(({ corpus_id }) => words[corpus_id] as string)
      .filter((word) => candidates[cluster]?.includes(word))
      .slice(0, kNames),
  );
}

const factsOf = ({ docs, pieces, size, picture, built }: Index): IndexFacts => ({ docs, pieces, size, picture, built });

const calls: BuildCalls & SearchCalls = {
  async chunk(model, text, size) {
    const cut = await (tokenizer ??= AutoTokenizer.from_pretrained(model));
    return cut.chunk(text, { max_tokens: size }).map(({ start, end, tokens }) => ({ start, end, tokens }));
  },
  async arrange(facts, vectors) {
    arranged = arrangeAll(facts, vectors);
    return arranged.candidates;
  },
  async finish(words, wordVectors) {
    if (!arranged) throw new Error('nothing was arranged');
    const { facts, vectors, plane, labels } = arranged;
    const [first, second] = plane.shares;
    const points = project(vectors, vectors.length / facts.pieces.length, plane);
    const picture: Picture = { points, labels, terms: namesOf(arranged, words, wordVectors), share: first + second };
    arranged = undefined;
    return { picture, plane, built: Date.now() };
  },
  async keep(fingerprint, name, built) {
    index = built;
    try {
      await put(keyOf(fingerprint), { ...built, name });
      return undefined;
    } catch (error) {
      return (error as Error).message;
    }
  },
  async restore(fingerprint) {
    index = (await get(keyOf(fingerprint))) as Index | undefined;
    return index && factsOf(index);
  },
  async forget(fingerprint) {
    index = undefined;
    await remove(keyOf(fingerprint));
  },
  async search(query, count) {
    if (!index) return { hits: [], at: [0, 0], built: 0 };
    const corpus = new Tensor('float32', index.vectors, [index.pieces.length, dimOf(index)]);
    const [hits = []] = semantic_search(query, corpus, { top_k: count });
    const [x = 0, y = 0] = project(query, query.length, index.plane);
    return { hits: hits.map(({ corpus_id, score }) => ({ piece: corpus_id, score })), at: [x, y], built: index.built };
  },
};

addEventListener('message', async ({ data }: MessageEvent<Call>) => {
  const { id, name, args } = data;
  let answer: Answer;
  try {
    answer = { id, result: await (calls[name] as (...args: unknown[]) => Promise<unknown>)(...args) };
  } catch (error) {
    const { name: kind, message } = error as Error;
    answer = { id, error: { name: kind, message } };
  }
  postMessage(answer);
});
