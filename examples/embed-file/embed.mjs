// Embeds the paragraphs of a text file with the bundled model, without a network:
//   node embed.mjs notes.txt > notes.jsonl                one JSON object { text, embedding } per line
//   node embed.mjs notes.txt --find "when do we meet?"    the three nearest paragraphs
import { readFile } from 'node:fs/promises';
import { pipeline, semantic_search } from 'wattn';

const [file, flag, question] = process.argv.slice(2);
if (file === undefined || (flag !== undefined && (flag !== '--find' || question === undefined))) {
  console.error('usage: node embed.mjs FILE [--find QUESTION]');
  process.exit(2);
}
const paragraphs = (await readFile(file, 'utf8'))
  .split(/\n\s*\n/)
  .map((paragraph) => paragraph.trim())
  .filter((paragraph) => paragraph !== '');
if (paragraphs.length === 0) {
  console.error(`${file}: expected text, found none`);
  process.exit(2);
}

const embed = await pipeline('feature-extraction');
const embeddings = await embed(paragraphs, { on_overflow: 'window' }); // embeds all of a long paragraph, not only its beginning
if (question === undefined) {
  const vectors = embeddings.tolist();
  paragraphs.forEach((text, i) => console.log(JSON.stringify({ text, embedding: vectors[i] })));
} else {
  const [found] = semantic_search(await embed([question]), embeddings, { top_k: 3 });
  for (const { corpus_id, score } of found) console.log(`${score.toFixed(3)}  ${paragraphs[corpus_id]}`);
}
await embed.dispose();
