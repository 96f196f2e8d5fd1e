// The encoder of all-MiniLM-L6-v2 on two threads, as many times as fast as on one: the median of ROUNDS (9) rounds that alternate. It needs two
// cores that do nothing else.
//   node bench/web/two_threads.mjs
import { join } from 'node:path';
import { AutoModel, Tensor } from '../../dist/node.js';

const folder = join(process.env.WATTN_MODELS_DIR ?? new URL('../../.models', import.meta.url).pathname, 'all-MiniLM-L6-v2');
const rounds = Number(process.env.ROUNDS ?? 9);
const median = (values) => [...values].sort((a, b) => a - b)[values.length >> 1];

const models = {};
for (const dtype of ['f32', 'q8'])
  for (const threads of [1, 2]) models[`${dtype}, ${threads}`] = await AutoModel.from_pretrained(folder, { dtype, threads });

for (const [batch, tokens] of [
  [1, 8],
  [1, 16],
  [1, 32],
  [1, 64],
  [1, 128],
  [8, 32],
  [32, 32],
]) {
  const ids = BigInt64Array.from({ length: batch * tokens }, (_, i) => BigInt(1000 + ((i * 7919) % 20000)));
  const inputs = {
    input_ids: new Tensor('int64', ids, [batch, tokens]),
    attention_mask: new Tensor(
      'int64',
      ids.map(() => 1n),
      [batch, tokens],
    ),
  };
  const runs = Math.max(1, Math.round(300 / (batch * tokens)));
  const times = Object.fromEntries(Object.keys(models).map((name) => [name, []]));
  for (let round = 0; round <= rounds; ++round) {
    for (const [name, model] of Object.entries(models)) {
      const begin = performance.now();
      for (let i = 0; i < runs; ++i) await model(inputs);
      if (round > 0) times[name].push((performance.now() - begin) / runs);
    }
  }
  const speed = (dtype) => (median(times[`${dtype}, 1`]) / median(times[`${dtype}, 2`])).toFixed(2);
  console.log(`${batch} x ${tokens}: f32 ${speed('f32')}, q8 ${speed('q8')}`);
}
await Promise.all(Object.values(models).map((model) => model.dispose()));
