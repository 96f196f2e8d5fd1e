// The second turn of a chat, one thread: ms to its first token after 1,000 tokens of history and 20 new ones. Measured with and without the cache
// of the first turn, in alternating runs. Also saving and loading a prefix, and keys and values in 8 bits. The model is that of generate.mjs, with
// LAYERS (30: SmolLM-135M's depth).
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { pipeline } from '../../dist/node.js';

const folder = join(fileURLToPath(new URL('../../', import.meta.url)), 'build/bench-llama');
if (!existsSync(join(folder, 'model.safetensors'))) throw new Error('run bench/web/generate.mjs first: it makes the model');

const letters = (count, seed) =>
  Array.from({ length: count }, (_, i) => String.fromCharCode(97 + ((i * i + seed * (i >> 2)) % 26))).join('');
const kRounds = Number(process.env.ROUNDS ?? 3);

async function firstToken(generate, prompt) {
  const start = performance.now();
  let at = 0;
  const callback = () => void (at ||= performance.now() - start);
  const [{ cached_tokens, tokens }] = await generate(prompt, {
    max_new_tokens: 2,
    eos_token_id: [],
    return_full_text: false,
    callback,
  });
  return { ms: at, cached_tokens, tokens };
}

for (const dtype of ['f32', 'q8']) {
  const [kept, anew] = [
    await pipeline('text-generation', folder, { dtype, threads: 1 }),
    await pipeline('text-generation', folder, { dtype, threads: 1, prefix_cache_bytes: 0 }),
  ];
  await firstToken(anew, letters(64, 99));
  await firstToken(kept, letters(64, 98));
  const times = { kept: [], anew: [] };
  let bytes;
  for (let round = 0; round < kRounds; ++round) {
    const history = letters(1000, round + 1);
    await firstToken(kept, history);
    const prompt = history + letters(20, round + 50);
    const [fast, slow] = [await firstToken(kept, prompt), await firstToken(anew, prompt)];
    if (String(fast.tokens) !== String(slow.tokens) || fast.cached_tokens < 1000 || slow.cached_tokens !== 0)
      throw new Error('expected equal tokens');
    times.kept.push(fast.ms);
    times.anew.push(slow.ms);
    bytes = kept.info().prefixes.bytes;
  }
  const best = (list) => Math.min(...list);
  const say = (name, list) => `${name} ${list.map((ms) => ms.toFixed(0)).join(' ')} ms`;
  console.log(
    `${dtype}: first token: ${say('kept', times.kept)}, ${say('anew', times.anew)}: ${(best(times.anew) / best(times.kept)).toFixed(1)} times sooner; ${(bytes / 1e6).toFixed(1)} MB kept`,
  );
  const start = performance.now();
  const saved = await kept.save_prefix(letters(1000, 1));
  const middle = performance.now();
  await kept.dispose();
  const other = await pipeline('text-generation', folder, { dtype, threads: 1 });
  const begin = performance.now();
  await other.load_prefix(saved);
  console.log(
    `${dtype}: save_prefix of 1,000 tokens ${(middle - start).toFixed(0)} ms, load_prefix ${(performance.now() - begin).toFixed(0)} ms, ${(saved.length / 1e6).toFixed(1)} MB`,
  );
  await other.dispose();
  await anew.dispose();
}
