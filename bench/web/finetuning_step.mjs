// One update of all-MiniLM-L6-v2 on 16 texts of 64 tokens, one thread: processor time relative to the forward pass of the same texts. Then memory:
// the estimate of trainer.plan(), and the growth of the process since its start. Each method runs in a separate process.
//   node bench/web/finetuning_step.mjs [fast|exact] [ROUNDS]
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { pipeline } from '../../dist/node.js';
import { Trainer } from '../../dist/train_entry_node.js';
import { writeRecord } from './lib/record.mjs';

const [precision = 'fast', rounds = '5', method] = process.argv.slice(2);
const model = process.env.MODEL ?? join(fileURLToPath(new URL('../..', import.meta.url)), '.models/all-MiniLM-L6-v2');
const kMethods = {
  lora: { method: 'lora' },
  'lora, checkpointing': { method: 'lora', checkpointing: true },
  'full, frozen embeddings': { method: 'full', freeze_embeddings: true },
  full: { method: 'full' },
  'full, checkpointing': { method: 'full', checkpointing: true },
};
const median = (values) => [...values].sort((a, b) => a - b)[values.length >> 1];
const cpu = async (run) => {
  const begin = process.cpuUsage();
  await run();
  const { user, system } = process.cpuUsage(begin);
  return (user + system) / 1e6;
};

if (!method) {
  const records = Object.keys(kMethods).map((name) => {
    const { stdout, stderr, status } = spawnSync(process.execPath, [fileURLToPath(import.meta.url), precision, rounds, name], {
      encoding: 'utf8',
    });
    if (status !== 0) throw new Error(stderr);
    return JSON.parse(stdout);
  });
  console.table(records);
  writeRecord(`finetuning-step-${precision}`, records);
} else {
  // 62 words of one token each, and the two special tokens; no two texts are the same.
  const kWords =
    'the of and in to was is for on as by with he that at from his it an were are which this be has had one also its new'.split(
      ' ',
    );
  const texts = Array.from({ length: 16 }, (_, row) =>
    Array.from({ length: 62 }, (_, i) => kWords[(row * 7 + i * (row + 1)) % kWords.length]).join(' '),
  );
  const rows = texts.map((text, i) => ({ text, label: 'abcd'[i % 4] }));
  const base = process.memoryUsage().rss;
  const options = {
    task: 'feature-extraction',
    loss: 'SupConLoss',
    batch_size: 16,
    max_steps: Number(rounds) + 2,
    threads: 1,
    precision,
  };
  const trainer = await Trainer.from_pretrained(model, { ...options, ...kMethods[method] });
  const { total } = await trainer.plan({ batch: 16, tokens: 64 });
  const steps = [];
  const fit = trainer.fit(rows)[Symbol.asyncIterator]();
  let tokens;
  const step = async () => ({ tokens } = (await fit.next()).value);
  for (let i = 0; i < 2; ++i) await step(); // compiles
  const most = process.memoryUsage().rss;
  const forward = await pipeline('feature-extraction', model, { threads: 1, precision, dtype: 'f32' });
  const passes = [];
  for (let i = 0; i < 2; ++i) await forward(texts);
  for (let i = 0; i < Number(rounds); ++i) {
    passes.push(await cpu(() => forward(texts)));
    steps.push(await cpu(step));
  }
  const ratios = steps.map((each, i) => each / passes[i]);
  const mb = (bytes) => (bytes / 1e6).toFixed(0);
  console.log(
    JSON.stringify({
      method,
      precision,
      tokens,
      pass_s: median(passes).toFixed(3),
      step_s: median(steps).toFixed(3),
      least: (Math.min(...steps) / Math.min(...passes)).toFixed(2),
      times_pass: median(ratios).toFixed(2),
      planned_mb: mb(total),
      grown_mb: mb(most - base),
    }),
  );
  await trainer.dispose();
  await forward.dispose();
}
