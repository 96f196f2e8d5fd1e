// One step of training against jax-js and tfjs, on models that all three can express. These are a two-layer network of MiniLM's width, and a
// transformer block with one head and no norms. Each: forward, mean squared error, the gradients of all matrices, and SGD; f32, one thread, in one
// process, interleaved. Medians of processor time, ratios, and the last losses, which must agree. Rivals are installed into build/rivals. See
// bench/README.md.
//   node bench/web/training_step.mjs [ROUNDS]
import { createRequire } from 'node:module';
import { join, sep } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { nn } from '../../dist/node.js';
import { writeRecord } from './lib/record.mjs';
import { installRivals, rivals } from '../../tools/lib/rivals.mjs';

const root = fileURLToPath(new URL('../../', import.meta.url));
const kRivals = ['@jax-js/jax@0.1.25', '@tensorflow/tfjs@4.22.0', '@tensorflow/tfjs-backend-wasm@4.22.0'];
const [kRows, kHidden, kFfn, kRate] = [256, 384, 1536, 0.1];
const rounds = Number(process.argv[2] ?? 5);

installRivals(...kRivals);
const require = createRequire(join(rivals, 'package.json'));
const jax = await import(pathToFileURL(join(rivals, 'node_modules/@jax-js/jax/dist/index.js')).href);
const tf = require('@tensorflow/tfjs');
const { setWasmPaths, setThreadsCount } = require('@tensorflow/tfjs-backend-wasm');

let seed = 1;
const draw = (rows, cols, scale) => ({
  dims: [rows, cols],
  data: Float32Array.from({ length: rows * cols }, () => {
    seed = (seed * 48271) % 2147483647;
    return (seed / 2147483647 - 0.5) * scale;
  }),
});
const x = draw(kRows, kHidden, 2);
const target = draw(kRows, kHidden, 2);
const ffn = [draw(kHidden, kFfn, 0.1), draw(kFfn, kHidden, 0.1)];
const attention = Array.from({ length: 4 }, () => draw(kHidden, kHidden, 0.1));
const kModels = { 'two layers': ffn, 'transformer block': [...attention, ...ffn] };
const scale = kHidden ** -0.5;

/** Functions that take a step and give its loss. */
async function wattn(model) {
  await nn.ready();
  const tensor = ({ dims, data }, options) => nn.tensor(new nn.Tensor('float32', data.slice(), dims), options);
  const weights = kModels[model].map((each) => tensor(each, { requires_grad: true }));
  const [input, goal] = [tensor(x), tensor(target)];
  const sgd = new nn.optim.SGD(weights, { lr: kRate });
  const forward = () => {
    const [w1, w2] = weights.slice(-2);
    if (model === 'two layers') return input.matmul(w1).relu().matmul(w2);
    const [q, k, v, o] = weights;
    const scores = input.matmul(q).matmul(input.matmul(k).transpose(0, 1)).mul(scale);
    const h = input.add(nn.functional.softmax(scores, { dim: -1 }).matmul(input.matmul(v)).matmul(o));
    return h.add(h.matmul(w1).relu().matmul(w2));
  };
  return async () => {
    sgd.zero_grad();
    const loss = nn.functional.mse_loss(forward(), goal);
    loss.backward();
    sgd.step();
    return loss.item();
  };
}

async function jaxJs(model) {
  const { numpy: np, nn: jnn } = jax;
  await jax.init?.('wasm');
  jax.defaultDevice('wasm');
  const array = ({ dims, data }) => np.array(data.slice(), { shape: dims });
  let weights = kModels[model].map(array);
  const [input, goal] = [array(x), array(target)];
  const forward = (given, a) => {
    if (model === 'two layers') {
      const [w1, w2] = given;
      return np.matmul(jnn.relu(np.matmul(a, w1)), w2);
    }
    const [q, k, v, o, w1, w2] = given;
    const scores = np.matmul(np.matmul(a.ref, q), np.matmul(a.ref, k).transpose()).mul(scale);
    const h = a.ref.add(np.matmul(np.matmul(jnn.softmax(scores), np.matmul(a, v)), o));
    return h.ref.add(np.matmul(jnn.relu(np.matmul(h, w1)), w2));
  };
  const step = jax.jit((given, a, b) => {
    const kept = given.map((each) => each.ref);
    const [loss, gradients] = jax.valueAndGrad((w) => np.square(forward(w, a).sub(b)).mean())(given);
    return [loss, kept.map((each, i) => each.sub(gradients[i].mul(kRate)))];
  });
  return async () => {
    const [loss, next] = step(weights, input.ref, goal.ref);
    weights = next;
    await jax.blockUntilReady(weights);
    return loss.js();
  };
}

async function tfjs(model, backend) {
  setWasmPaths(join(rivals, 'node_modules/@tensorflow/tfjs-backend-wasm/dist') + sep);
  setThreadsCount(1);
  await tf.setBackend(backend);
  const tensor = ({ dims, data }) => tf.tensor2d(data.slice(), dims);
  const weights = kModels[model].map((each) => tf.variable(tensor(each)));
  const [input, goal] = [tensor(x), tensor(target)];
  const forward = () => {
    const [w1, w2] = weights.slice(-2);
    if (model === 'two layers') return tf.matMul(tf.relu(tf.matMul(input, w1)), w2);
    const [q, k, v, o] = weights;
    const scores = tf.matMul(tf.matMul(input, q), tf.matMul(input, k), false, true).mul(scale);
    const h = input.add(tf.matMul(tf.matMul(tf.softmax(scores), tf.matMul(input, v)), o));
    return h.add(tf.matMul(tf.relu(tf.matMul(h, w1)), w2));
  };
  const sgd = tf.train.sgd(kRate);
  return async () => {
    await tf.setBackend(backend);
    const loss = sgd.minimize(() => forward().sub(goal).square().mean(), true, weights);
    const [value] = await loss.data();
    loss.dispose();
    return value;
  };
}

const kRunners = {
  wattn,
  'jax-js, wasm': jaxJs,
  'tfjs, wasm': (model) => tfjs(model, 'wasm'),
  'tfjs, JavaScript': (model) => tfjs(model, 'cpu'),
};
const median = (values) => [...values].sort((a, b) => a - b)[values.length >> 1];
const records = [];
for (const model of Object.keys(kModels)) {
  const steps = {};
  for (const [name, make] of Object.entries(kRunners)) {
    try {
      steps[name] = { run: await make(model), times: [], losses: [] };
      steps[name].losses.push(await steps[name].run()); // compiles
    } catch (error) {
      delete steps[name];
      console.log(`${model}: ${name} cannot: ${String(error?.message ?? error).split('\n')[0]}`);
    }
  }
  for (let round = 0; round < rounds; ++round) {
    for (const one of Object.values(steps)) {
      const begin = process.cpuUsage();
      one.losses.push(await one.run());
      const { user, system } = process.cpuUsage(begin);
      one.times.push((user + system) / 1000);
    }
  }
  const own = median(steps.wattn.times);
  for (const [name, { times, losses }] of Object.entries(steps)) {
    const ms = median(times);
    records.push({
      model,
      library: name,
      ms: ms.toFixed(1),
      times_wattn: (ms / own).toFixed(2),
      last_loss: losses.at(-1).toFixed(6),
    });
  }
}
console.table(records);
writeRecord('training-step', records);
