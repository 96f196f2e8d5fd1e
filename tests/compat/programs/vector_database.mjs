// Semantic search in a database: the vectors are stored as text, as PGlite with pgvector takes them, and the database compares.
import { pipeline } from '@huggingface/transformers';

class EmbeddingPipeline {
  static instance = null;
  static async getInstance(id, progress_callback = null) {
    this.instance ??= pipeline('feature-extraction', id, { dtype: 'fp32', device: 'wasm', progress_callback });
    return this.instance;
  }
}

/** As much of a database as this program uses. */
class Database {
  rows = [];
  async insert(content, embedding) {
    this.rows.push({ content, embedding: JSON.parse(embedding) });
  }
  async search(embedding, threshold, limit) {
    const query = JSON.parse(embedding);
    const inner = (row) => row.reduce((sum, value, i) => sum + value * query[i], 0);
    const found = this.rows.map(({ content, embedding }) => ({ content, inner: inner(embedding) }));
    return found.filter((each) => each.inner > threshold).sort((a, b) => b.inner - a.inner).slice(0, limit); // prettier-ignore
  }
}

export default async function run({ embed: id }) {
  const database = new Database();
  const extractor = await EmbeddingPipeline.getInstance(id);
  const embed = async (text) => {
    const output = await extractor(text, { pooling: 'mean', normalize: true });
    return JSON.stringify(Array.from(output.data));
  };
  const texts = ['A small boat waits below the old bridge.', 'Small birds sing in the wind.', 'The river runs under the bridge.'];
  for (const text of texts) await database.insert(text, await embed(text));
  const found = await database.search(await embed('A small boat waits below the old bridge.'), 0.5, 2);
  await extractor.dispose();
  return { sizes: database.rows.map(({ embedding }) => embedding.length), found };
}
