// Semantic search in a page, with nothing sent anywhere. wattn embeds in a worker, and PGlite with pgvector stores the notes and their
// vectors in the browser's IndexedDB, for the next visit too.
import { PGlite } from '@electric-sql/pglite';
import { vector } from '@electric-sql/pglite-pgvector';
import { pipeline } from 'wattn';

const byId = (id) => document.getElementById(id);
const say = (text) => (byId('status').textContent = text);

async function open() {
  const [embed, database] = await Promise.all([
    pipeline('feature-extraction', null, { worker: true }),
    PGlite.create('idb://notes', { extensions: { vector } }),
  ]);
  const [, dimensions] = (await embed(['?'])).dims;
  await database.exec(`
    create extension if not exists vector;
    create table if not exists notes (text text primary key, embedding vector(${dimensions}) not null);
  `);
  return { embed, database };
}

const toVectors = async (embed, texts) => (await embed(texts)).tolist().map((row) => JSON.stringify(row));

async function add({ embed, database }, texts) {
  const vectors = await toVectors(embed, texts);
  await database.transaction(async (transaction) => {
    for (const [i, text] of texts.entries()) {
      await transaction.query('insert into notes values ($1, $2) on conflict do nothing', [text, vectors[i]]);
    }
  });
  const { rows } = await database.query('select count(*) as count from notes');
  say(`${rows[0].count} notes`);
}

async function search({ embed, database }, question) {
  if (question.trim() === '') return byId('found').replaceChildren();
  const [asked] = await toVectors(embed, [question]);
  const { rows } = await database.query(
    'select text, 1 - (embedding <=> $1) as score from notes order by embedding <=> $1 limit 5',
    [asked],
  );
  if (question !== byId('question').value) return; // the question has changed meanwhile
  byId('found').replaceChildren(
    ...rows.map(({ text, score }) => {
      const item = document.createElement('li');
      item.textContent = `${text} (${score.toFixed(2)})`;
      return item;
    }),
  );
}

const failed = (error) => say(`${error.name}: ${error.message}`);

try {
  const place = await open();
  await add(place, []);
  byId('add').addEventListener('submit', (event) => {
    event.preventDefault();
    const texts = byId('text')
      .value.split('\n')
      .map((text) => text.trim());
    add(
      place,
      [...new Set(texts)].filter((text) => text !== ''),
    ).catch(failed);
  });
  byId('question').addEventListener('input', ({ target }) => search(place, target.value).catch(failed));
} catch (error) {
  failed(error);
}
