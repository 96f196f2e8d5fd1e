// Scores decoders with wattn itself: the likelihood of the texts in windows.json (export.py), and samples for some prompts.
// Usage: node tools/decoders/score.mjs --windows windows.json --out scores.json NAME=MODEL:DTYPE..
// Samples are those of the last one. Needs dist/ (npm run build).
import { readFileSync, writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { pipeline } from '../../dist/node.js';

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { out: { type: 'string' }, windows: { type: 'string' } },
});
const { sets, beginnings, sampling, seeds } = JSON.parse(readFileSync(values.windows, 'utf8'));
const found = { scores: {}, samples: [] };
for (const [at, argument] of positionals.entries()) {
  const [, name, model, dtype] = /^(.*?)=(.*):(\w+)$/.exec(argument);
  const generate = await pipeline('text-generation', model, { dtype });
  found.scores[name] = {};
  for (const [set, texts] of Object.entries(sets)) {
    const scored = await generate.score('', texts);
    const nats = -scored.reduce((sum, { score }) => sum + score, 0);
    const pieces = scored.reduce((sum, { tokens }) => sum + tokens.length, 0);
    found.scores[name][set] = { nats, pieces };
    console.log(name, set, Math.exp(nats / pieces));
  }
  if (at + 1 === positionals.length) {
    for (const beginning of beginnings) {
      for (const seed of seeds) {
        const [{ generated_text }] = await generate(beginning, { ...sampling, seed });
        found.samples.push({ beginning, seed, text: generated_text });
      }
    }
  }
  await generate.dispose();
}
writeFileSync(values.out, `${JSON.stringify(found, null, 1)}\n`);
