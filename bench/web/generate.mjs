// Text generation, one thread: tokens per second for prompt processing and generation, with a Llama of random weights and a third of SmolLM-135M's
// depth. With WATTN_BENCH_PYTHON (a Python with torch and transformers), also PyTorch on the same file, in alternating runs.
import { spawnSync } from 'node:child_process';
import { pipeline } from '../../dist/node.js';
import { llama } from './lib/llama.mjs';

const folder = llama(Number(process.env.LAYERS ?? 10), 8192, 2048);
const kPrompt = 256;
const kNew = 128;
const prompt = 'abcdefgh'.repeat(kPrompt / 8);

const python = `
import time, torch, transformers
torch.set_num_threads(1)
model = transformers.AutoModelForCausalLM.from_pretrained(${JSON.stringify(folder)}).eval()
ids = torch.arange(97, 105).repeat(${kPrompt / 8})[None]
def took(count):
    best = 1e9
    for _ in range(3):
        start = time.perf_counter()
        with torch.no_grad():
            model.generate(ids, max_new_tokens=count, min_new_tokens=count, do_sample=False, pad_token_id=0)
        best = min(best, time.perf_counter() - start)
    return best
read = took(1)
print(f"torch f32: reads {${kPrompt} / read:.0f} tokens/s, writes {${kNew} / (took(${kNew} + 1) - read):.1f} tokens/s")
`;

for (const dtype of ['f32', 'q16', 'q8']) {
  const generate = await pipeline('text-generation', folder, { dtype, threads: 1, prefix_cache_bytes: 0 }); // the same prompt again
  const took = async (max_new_tokens) => {
    let best = Infinity;
    for (let i = 0; i < 3; ++i) {
      const start = performance.now();
      await generate(prompt, { max_new_tokens, eos_token_id: [] });
      best = Math.min(best, performance.now() - start);
    }
    return best / 1000;
  };
  await took(4);
  const read = await took(1);
  const write = (await took(kNew + 1)) - read;
  console.log(`wattn ${dtype}: reads ${(kPrompt / read).toFixed(0)} tokens/s, writes ${(kNew / write).toFixed(1)} tokens/s`);
  await generate.dispose();
  if (dtype === 'f32' && process.env.WATTN_BENCH_PYTHON)
    spawnSync(process.env.WATTN_BENCH_PYTHON, ['-c', python], { stdio: ['ignore', 'inherit', 'ignore'] });
}
