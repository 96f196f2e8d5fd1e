// A worker that embeds a query and texts, and a page that ranks them by the first numbers of the vectors alone (Matryoshka).
import { pipeline } from '@huggingface/transformers';

class Embedder {
  static instance = null;
  static getInstance(id, progress_callback = null) {
    this.instance ??= pipeline('feature-extraction', id, { dtype: 'fp32', progress_callback });
    return this.instance;
  }
}

const makeWorker = (id, post) => async (event) => {
  const { source, text } = event.data;
  const embed = await Embedder.getInstance(id, (info) => post(info));
  const lines = [source, ...text.split('\n')].map((line) => line.trim()).filter(Boolean);
  const embeddings = await embed(lines, { pooling: 'mean', normalize: true });
  post({ status: 'complete', embeddings: embeddings.tolist() });
};

const norm = (row) => Math.hypot(...row);
const closeness = (a, b) => a.reduce((sum, value, i) => sum + value * b[i], 0) / (norm(a) * norm(b));

export default async function run({ embed: id }) {
  const posted = [];
  const text = 'A small boat waits below the old bridge.\n\nSmall birds sing in the wind.\nThe river runs under the bridge.';
  await makeWorker(id, (message) => posted.push(message))({ data: { source: 'Where is the boat?', text } });
  const [query, ...rows] = posted.find(({ status }) => status === 'complete').embeddings;
  const ranked = [32, 16, 8].map((size) => rows.map((row) => closeness(row.slice(0, size), query.slice(0, size))));
  await (await Embedder.getInstance()).dispose();
  return { rows: rows.length, size: query.length, ranked, told: posted.some(({ status }) => status === 'progress') };
}
