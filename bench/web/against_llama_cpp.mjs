// A language model of 125 M random weights in Node, compared with native llama.cpp (npm's node-llama-cpp, its own build for this processor): the
// same 8-bit GGUF file, one thread each. Tokens per second of processor time, for processing a prompt of CONTEXT tokens (512) and for generation,
// as the median of ROUNDS (7) alternating rounds.
//   node bench/web/against_llama_cpp.mjs
import { pipeline } from '../../dist/node.js';
import { importRival, installRivals } from '../../tools/lib/rivals.mjs';
import { packedLlama } from './lib/llama.mjs';
import { writeRecord } from './lib/record.mjs';
import { median } from './lib/rival.mjs';

const { ROUNDS = '7', CONTEXT = '512', LAYERS = '30' } = process.env;
const kRival = 'node-llama-cpp@3.22.1';
const kNew = 24;
const file = packedLlama(Number(LAYERS));
if (file === undefined) process.exit(0);
installRivals(kRival);
const { getLlama } = await importRival('node-llama-cpp');

/** Microseconds of processor time: no other thread of this process works. */
const now = () => process.cpuUsage().user + process.cpuUsage().system;
const llama = await getLlama({ gpu: false, build: 'never', maxThreads: 1, logLevel: 'error' });
const model = await llama.loadModel({ modelPath: file });
const context = await model.createContext({ contextSize: Number(CONTEXT) + 64, batchSize: 512, threads: 1 });
const sequence = context.getSequence();
const prompt = 'river stone '.repeat(Number(CONTEXT) / 2).trim();
const wattn = await pipeline('text-generation', file, { dtype: 'q8', threads: 1, prefix_cache_bytes: 0 });
const ids = model.tokenize(prompt, false, 'trimLeadingSpace');

/** Each engine reads the prompt and writes; `put` is called with each new token. */
const engines = {
  'llama.cpp': async (put) => {
    await sequence.clearHistory();
    let count = 0;
    for await (const token of sequence.evaluate(ids, { temperature: 0, yieldEogToken: true })) {
      put(token);
      if (++count > kNew) break;
    }
  },
  wattn: (put) => {
    let isPrompt = true; // a streamer is handed the prompt first
    const streamer = { put: (tokens) => (isPrompt ? (isPrompt = false) : put(tokens)), end() {} };
    return wattn(prompt, { max_new_tokens: kNew + 1, do_sample: false, eos_token_id: [], streamer });
  },
};
const times = { 'llama.cpp': [], wattn: [] };
for (let round = -1; round < Number(ROUNDS); ++round) {
  for (const [name, run] of Object.entries(engines)) {
    const stamps = [];
    const begin = now();
    await run(() => stamps.push(now()));
    if (round < 0) continue; // V8 compiles
    times[name].push({
      read: (1e6 * ids.length) / (stamps[0] - begin),
      write: (1e6 * (stamps.length - 1)) / (stamps.at(-1) - stamps[0]),
    });
  }
}
const rows = Object.entries(times).map(([engine, all]) => ({
  engine: engine === 'wattn' ? engine : `llama.cpp of ${kRival}`,
  'tokens of the prompt': ids.length,
  'read a second': median(all.map(({ read }) => read)).toFixed(1),
  'written a second': median(all.map(({ write }) => write)).toFixed(1),
  'reading, times llama.cpp': median(all.map(({ read }, i) => read / times['llama.cpp'][i].read)).toFixed(2),
  'writing, times llama.cpp': median(all.map(({ write }, i) => write / times['llama.cpp'][i].write)).toFixed(2),
}));
console.log(llama.systemInfo);
console.table(rows);
writeRecord('llama-cpp', rows);
await wattn.dispose();
await llama.dispose();
