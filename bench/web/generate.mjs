// Text generation, one thread: tokens a second of reading a prompt and of writing, of a Llama of random weights, a third of SmolLM-135M
// in depth; with WATTN_BENCH_PYTHON (a Python with torch and transformers) beside PyTorch on the same file, in turns.
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { pipeline } from '../../dist/node.js';

const root = fileURLToPath(new URL('../../', import.meta.url));
const folder = join(root, 'build/bench-llama');
const kLayers = Number(process.env.LAYERS ?? 10);
const config = {
  model_type: 'llama', architectures: ['LlamaForCausalLM'], vocab_size: 8192, hidden_size: 576, intermediate_size: 1536,
  num_hidden_layers: kLayers, num_attention_heads: 9, num_key_value_heads: 3, max_position_embeddings: 2048, rms_norm_eps: 1e-5,
  rope_theta: 10000, hidden_act: 'silu', tie_word_embeddings: true, bos_token_id: 1, eos_token_id: 2, dtype: 'float32',
}; // prettier-ignore

/** Weights of a made-up model, as safetensors. */
function makeModel() {
  const { hidden_size: width, intermediate_size: ffn, vocab_size: vocab } = config;
  const shapes = { 'model.embed_tokens.weight': [vocab, width], 'model.norm.weight': [width] };
  for (let i = 0; i < kLayers; ++i) {
    const at = `model.layers.${i}.`;
    const square = { q_proj: [width, width], k_proj: [192, width], v_proj: [192, width], o_proj: [width, width] };
    for (const [name, shape] of Object.entries(square)) shapes[`${at}self_attn.${name}.weight`] = shape;
    for (const name of ['gate_proj', 'up_proj']) shapes[`${at}mlp.${name}.weight`] = [ffn, width];
    shapes[`${at}mlp.down_proj.weight`] = [width, ffn];
    for (const name of ['input_layernorm', 'post_attention_layernorm']) shapes[`${at}${name}.weight`] = [width];
  }
  let offset = 0;
  let seed = 1;
  const header = {};
  const parts = [];
  for (const [name, shape] of Object.entries(shapes)) {
    const data = new Float32Array(shape.reduce((a, b) => a * b)).map(() => {
      seed = (seed * 48271) % 2147483647;
      return shape.length === 1 ? 1 : (seed / 2147483647 - 0.5) * 0.1;
    });
    header[name] = { dtype: 'F32', shape, data_offsets: [offset, (offset += data.byteLength)] };
    parts.push(Buffer.from(data.buffer));
  }
  const text = Buffer.from(JSON.stringify(header));
  const length = Buffer.alloc(8);
  length.writeBigUInt64LE(BigInt(text.length));
  writeFileSync(join(folder, 'model.safetensors'), Buffer.concat([length, text, ...parts]));
  const words = Array.from({ length: vocab }, (_, i) =>
    i < 3 ? ['<unk>', '<s>', '</s>'][i] : i < 256 ? String.fromCharCode(i) : `~${i}`,
  );
  const model = { type: 'BPE', unk_token: '<unk>', vocab: Object.fromEntries(words.map((word, i) => [word, i])), merges: [] };
  writeFileSync(join(folder, 'tokenizer.json'), JSON.stringify({ version: '1.0', added_tokens: [], model }));
  writeFileSync(join(folder, 'config.json'), JSON.stringify(config));
}

mkdirSync(folder, { recursive: true });
if (!existsSync(join(folder, 'model.safetensors'))) makeModel();

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
  const generate = await pipeline('text-generation', folder, { dtype, threads: 1 });
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
