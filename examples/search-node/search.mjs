// Search by words and meaning, in an index that lies in the folder ./notes. pgvector.mjs does it in PostgreSQL.
//   node search.mjs add "The bakery opens at six." "Trains leave every hour."
//   node search.mjs find "When can I buy rolls?"
import { Index, pipeline } from 'wattn';

const [verb, ...texts] = process.argv.slice(2);
if (!['add', 'find'].includes(verb) || texts.length === 0) {
  console.error('usage: node search.mjs add TEXT... | find QUESTION');
  process.exit(2);
}

const embed = await pipeline('feature-extraction');
const index = await Index.open('notes', { embed });
if (verb === 'add') {
  // A text is its own id, so one that is there already is not embedded again.
  const { added } = await index.add([...new Set(texts)].map((text) => ({ id: text, text })));
  console.log(`added ${added}`);
} else {
  const hits = await index.search(texts[0], { top_k: 3 });
  for (const { text, why } of hits) console.log(`${why.meaning.toFixed(2)}  ${text}`);
}
await index.dispose();
await embed.dispose();
