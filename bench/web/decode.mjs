// Generation by a decoder: a Llama of 125 M random weights, with alternating number formats in one process. Tokens per second of processor time
// after a prompt of CONTEXT tokens (16), as the median of ROUNDS (7) rounds of 24 tokens. Speed is relative to f32 within a round. BEFORE names
// another build's dist, whose models alternate with these; the speed relative to it is then printed, too.
//   node bench/web/decode.mjs [DTYPES] [exact|fast] [THREADS]
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { llama } from './lib/llama.mjs';
import { writeRecord } from './lib/record.mjs';

const [dtypes = 'f32,f16,q16,q8,q4', precision = 'exact', threads = '1'] = process.argv.slice(2);
const { BEFORE, CONTEXT = '16', ROUNDS = '7', BEAMS = '1', LAYERS = '30' } = process.env;
const kNew = 24;
const context = Number(CONTEXT);
const folder = llama(Number(LAYERS), 32768, 8192 + 256);
const prompt = 'abcdefgh'.repeat(context / 8);
const median = (values) => [...values].sort((a, b) => a - b)[values.length >> 1];
// Helper threads wait by turning for a while, so processor time says nothing with them.
const now = () => (threads === '1' ? process.cpuUsage().user + process.cpuUsage().system : performance.now() * 1000);

const contenders = [];
for (const dist of [new URL('../../dist/', import.meta.url), ...(BEFORE ? [pathToFileURL(join(BEFORE, '/'))] : [])]) {
  const { pipeline } = await import(new URL('node.js', dist));
  for (const dtype of dtypes.split(',')) {
    const build = contenders.length < dtypes.split(',').length ? 'this' : 'before';
    // The prompt is read anew each time; a build of before prefixes were kept does not know the option.
    const anew = build === 'this' ? { prefix_cache_bytes: 0, context_length: context + 64 } : {};
    const generate = await pipeline('text-generation', folder, { dtype, precision, threads: Number(threads), ...anew });
    contenders.push({
      dtype,
      build,
      generate,
      reads: [],
      writes: [],
    });
  }
}

/** Microseconds of reading the prompt, and of each token after it. */
async function measure({ generate, reads, writes }) {
  const times = [];
  const streamer = { put: () => times.push(now()), end() {} };
  const beams = Number(BEAMS);
  const begin = now();
  if (beams > 1) {
    await generate(prompt, { max_new_tokens: 1, min_new_tokens: 1, num_beams: beams });
    const one = now();
    const steps = await generate(prompt, { max_new_tokens: kNew + 1, min_new_tokens: kNew + 1, num_beams: beams });
    reads.push(one - begin);
    writes.push((now() - one - (one - begin)) / kNew);
    return steps;
  }
  await generate(prompt, { max_new_tokens: kNew + 1, eos_token_id: [], streamer });
  const first = times[1];
  reads.push(first - begin);
  writes.push((times.at(-1) - first) / (times.length - 2));
}

for (let round = -1; round < Number(ROUNDS); ++round) {
  for (const contender of contenders) await measure(contender);
  if (round < 0) for (const contender of contenders) contender.reads.length = contender.writes.length = 0; // V8 compiles
}
const records = contenders.map(({ dtype, build, reads, writes }) => {
  const ratio = (other, key) => (other ? median(other[key].map((value, i) => value / { reads, writes }[key][i])).toFixed(2) : '');
  const of = (wanted) => contenders.find((one) => one.dtype === wanted.dtype && one.build === wanted.build);
  return {
    build, dtype, precision, threads, context, beams: BEAMS,
    'reads, tokens/s': Math.round((1e6 * context) / median(reads)),
    'writes, tokens/s': (1e6 / median(writes)).toFixed(1),
    'writes to f32': ratio(of({ dtype: 'f32', build }), 'writes'),
    'reads to before': ratio(build === 'this' && of({ dtype, build: 'before' }), 'reads'),
    'writes to before': ratio(build === 'this' && of({ dtype, build: 'before' }), 'writes'),
  }; // prettier-ignore
});
console.table(records);
if (process.env.RECORD) writeRecord(`decode${process.env.RECORD}`, records);
for (const { generate } of contenders) await generate.dispose();
