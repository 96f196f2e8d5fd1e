// Semantic search in a database with pgvector: the PostgreSQL server at DATABASE_URL, which needs the extension, or else PGlite, which is
// PostgreSQL in this process, stored in ./notes.db.
//   node pgvector.mjs add "The bakery opens at six." "Trains leave every hour."
//   node pgvector.mjs find "When can I buy rolls?"
import { pipeline } from 'wattn';

/** { query(sql, values) -> { rows }, end() }, for either database. */
async function openDatabase() {
  if (process.env.DATABASE_URL) {
    const { default: pg } = await import('pg');
    const client = new pg.Client({ connectionString: process.env.DATABASE_URL });
    await client.connect();
    return { query: (sql, values) => client.query(sql, values), end: () => client.end() };
  }
  const { PGlite } = await import('@electric-sql/pglite');
  const { vector } = await import('@electric-sql/pglite-pgvector');
  const database = await PGlite.create('./notes.db', { extensions: { vector } });
  return { query: (sql, values) => database.query(sql, values), end: () => database.close() };
}

const [verb, ...texts] = process.argv.slice(2);
if (!['add', 'find'].includes(verb) || texts.length === 0) {
  console.error('usage: node pgvector.mjs add TEXT... | find QUESTION');
  process.exit(2);
}

const embed = await pipeline('feature-extraction');
const embeddings = await embed(texts);
const [, dimensions] = embeddings.dims;
const vectors = embeddings.tolist().map((vector) => JSON.stringify(vector)); // pgvector's notation: [1,2,3]
await embed.dispose();

const database = await openDatabase();
await database.query('create extension if not exists vector');
await database.query(
  `create table if not exists notes (id bigint generated always as identity primary key, text text not null, embedding vector(${dimensions}) not null)`,
);
await database.query('create index if not exists notes_embedding on notes using hnsw (embedding vector_cosine_ops)');
if (verb === 'add') {
  await database.query(
    'insert into notes (text, embedding) select text, embedding::vector from unnest($1::text[], $2::text[]) as new (text, embedding)',
    [texts, vectors],
  );
  console.log(`added ${texts.length}`);
} else {
  const sql = 'select text, 1 - (embedding <=> $1::vector) as score from notes order by embedding <=> $1::vector limit 3';
  const { rows } = await database.query(sql, [vectors[0]]);
  for (const { text, score } of rows) console.log(`${Number(score).toFixed(3)}  ${text}`);
}
await database.end();
