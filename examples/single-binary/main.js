// One file to give away, without an installation: which line of the standard input is nearest to a question. `npm install`, then `npm run bun` (or
// `npm run node`) makes it: printf 'The bakery opens at six.\nThe river is cold.\n' | out/nearest-bun 'when can I buy rolls'
import { readFileSync } from 'node:fs';
import { cos_sim, pipeline } from 'wattn/inline';
import model from 'wattn/wattn-default.gguf'; // its bytes: esbuild's loader `binary`

async function main(question) {
  if (!question) throw new Error('expected a question, and texts on the standard input');
  const texts = readFileSync(0, 'utf8').split('\n').filter(Boolean);
  const embed = await pipeline('feature-extraction', { 'wattn-default.gguf': model }, { worker: true });
  const [asked, ...vectors] = (await embed([question, ...texts])).tolist();
  const found = texts.map((text, i) => ({ text, score: cos_sim(vectors[i], asked) })).sort((a, b) => b.score - a.score);
  for (const { text, score } of found) console.log(`${score.toFixed(3)}  ${text}`);
  await embed.dispose();
}

main(process.argv[2]).catch((error) => {
  console.error(error.message);
  process.exitCode = 1;
});
