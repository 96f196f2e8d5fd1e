// Beside the page: cuts texts into pieces, finds their picture, searches, and keeps the index in the browser's database.
import { AutoTokenizer, k_means, semantic_search, Tensor, type Tokenizer } from 'wattn';
import { principalPlane, project, type Plane } from './pca.js';
import type { Answer, Call, IndexCalls, IndexFacts, Picture } from './protocol.js';
import { get, put, remove } from './store.js';
import { termsOf } from './terms.js';

interface Index extends IndexFacts {
  /** The model's name, for people who look into the database. */
  name: string;
  vectors: Float32Array;
  plane: Plane;
}

const kVersion = 1; // of what is kept
const kMostClusters = 8;
const kPiecesOfCluster = 5; // of fewer pieces, fewer clusters

let index: Index | undefined;
let tokenizer: Promise<Tokenizer> | undefined; // a worker sees one model only

const dimOf = ({ vectors, pieces }: Pick<Index, 'vectors' | 'pieces'>) => vectors.length / pieces.length;
const keyOf = (fingerprint: string) => `${kVersion} ${fingerprint}`;

function pictureOf(facts: Omit<IndexFacts, 'picture' | 'built'>, vectors: Float32Array, plane: Plane): Picture {
  const { docs, pieces } = facts;
  const dim = vectors.length / pieces.length;
  const count = Math.max(1, Math.min(kMostClusters, Math.floor(pieces.length / kPiecesOfCluster)));
  const { labels } = k_means(new Tensor('float32', vectors, [pieces.length, dim]), count, { n_init: 2, max_iterations: 50 });
  const texts = pieces.map(({ doc, start, end }) => docs[doc]?.text.slice(start, end) ?? '');
  const [first, second] = plane.shares;
  return { points: project(vectors, dim, plane), labels, terms: termsOf(texts, labels, count), share: first + second };
}

const factsOf = ({ docs, pieces, size, picture, built }: Index): IndexFacts => ({ docs, pieces, size, picture, built });

const calls: IndexCalls = {
  async chunk(model, text, size) {
    const cut = await (tokenizer ??= AutoTokenizer.from_pretrained(model));
    return cut.chunk(text, { max_tokens: size }).map(({ start, end, tokens }) => ({ start, end, tokens }));
  },
  async build(fingerprint, facts, name, vectors) {
    const plane = principalPlane(vectors, vectors.length / facts.pieces.length);
    const picture = pictureOf(facts, vectors, plane);
    index = { ...facts, name, vectors, plane, picture, built: Date.now() };
    const kept = await put(keyOf(fingerprint), index).catch((error: Error) => error);
    return { ...factsOf(index), ...(kept instanceof Error && { unkept: kept.message }) };
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
    if (!index) return { hits: [], at: [0, 0] };
    const corpus = new Tensor('float32', index.vectors, [index.pieces.length, dimOf(index)]);
    const [hits = []] = semantic_search(query, corpus, { top_k: count });
    const [x = 0, y = 0] = project(query, query.length, index.plane);
    return { hits: hits.map(({ corpus_id, score }) => ({ piece: corpus_id, score })), at: [x, y] };
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
