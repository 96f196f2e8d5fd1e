// Makes a Llama with random weights and SmolLM-135M's width, as a folder that a pipeline loads.
import { spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { root } from '../../../tools/lib/shell.mjs';

/** The folder of a model with so many layers, words and positions; made on first use. */
export function llama(layers, vocab, positions) {
  const folder = fileURLToPath(new URL(`../../../build/bench-llama/${layers}-${vocab}-${positions}`, import.meta.url));
  const config = {
    model_type: 'llama', architectures: ['LlamaForCausalLM'], vocab_size: vocab, hidden_size: 576, intermediate_size: 1536,
    num_hidden_layers: layers, num_attention_heads: 9, num_key_value_heads: 3, max_position_embeddings: positions, rms_norm_eps: 1e-5,
    rope_theta: 10000, hidden_act: 'silu', tie_word_embeddings: true, bos_token_id: 1, eos_token_id: 2, dtype: 'float32',
  }; // prettier-ignore
  if (!existsSync(join(folder, 'config.json'))) makeModel(folder, config);
  return folder;
}

/**
 * The same with so many layers and Llama 2's vocabulary as one GGUF file of 8 bits, which llama.cpp reads too (it reads no tokenizer that is made up).
 * undefined: that vocabulary is not here, and a line says so.
 */
export function packedLlama(layers) {
  const tokenizer = join(root, '../shared/data/tokenizers/llama2-repaired');
  if (!existsSync(tokenizer)) {
    console.log(`skipped: no ${tokenizer}`);
    return undefined;
  }
  const folder = llama(layers, 32000, 2048);
  for (const file of ['tokenizer.json', 'tokenizer_config.json']) cpSync(join(tokenizer, file), join(folder, file));
  const packed = join(root, `build/bench/llama-${layers}-q8.gguf`);
  if (!existsSync(packed)) {
    mkdirSync(join(root, 'build/bench'), { recursive: true });
    const how = ['pack', '--model', folder, '--dtype', 'q8', '--out', packed];
    spawnSync(process.execPath, [join(root, 'dist/cli.js'), ...how], { stdio: 'inherit' });
  }
  return packed;
}

/** Weights of a made-up model, as safetensors. */
function makeModel(folder, config) {
  mkdirSync(folder, { recursive: true });
  const { hidden_size: width, intermediate_size: ffn, vocab_size: vocab, num_hidden_layers: layers } = config;
  const shapes = { 'model.embed_tokens.weight': [vocab, width], 'model.norm.weight': [width] };
  for (let i = 0; i < layers; ++i) {
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
