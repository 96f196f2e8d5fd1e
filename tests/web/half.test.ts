// dtype 'f16': f32's results with half its memory, from files in f16, bf16 and f32, on one thread, in workers and with threads.
import { join } from 'node:path';
import { AutoModel, packModel, pipeline } from 'wattn';
import { changed } from './safetensors.js';
import { failure, goldens, headFiles, largestDifference, mixedTexts, tiny, tinyFiles } from './support.js';

type Model = Parameters<typeof pipeline>[1];
const texts = mixedTexts(40);
const bits = (data: Float32Array) => Buffer.from(data.slice().buffer);

async function vectors(model: Model, options: object = {}) {
  const embed = await pipeline('feature-extraction', model, options);
  const { data } = await embed(texts);
  const out = { bits: bits(data as Float32Array), data, weights: embed.memory().weights, dtype: embed.info().dtype };
  await embed.dispose();
  return out;
}

const sharded = () => {
  const files = tinyFiles({}, 'model-sharded');
  files.delete('model.safetensors');
  return files;
};
const kFiles: Record<string, () => Model | Promise<Model>> = {
  f16: () => tinyFiles({}, 'model-f16'),
  bf16: () => tinyFiles({}, 'model-bf16'),
  'f16 in shards': sharded,
  'GGUF with F16': async () => ({ 'model.gguf': await packModel(tiny, { dtype: 'f16' }) }),
};

describe("dtype 'f16'", () => {
  for (const [name, files] of Object.entries(kFiles)) {
    for (const precision of ['exact', 'fast'] as const) {
      it(`gives the bits of f32 in half of its memory: ${name}, ${precision}`, async () => {
        const model = await files();
        const [f32, f16] = [await vectors(model, { precision }), await vectors(model, { precision, dtype: 'f16' })];
        expect(f16.bits.equals(f32.bits)).toBe(true);
        expect(f16.dtype).toBe('f16');
        expect(f16.weights).toBeLessThan(0.6 * f32.weights);
      });
    }
  }

  it('rounds a file in f32, so that the answers are near and not the same', async () => {
    const [f32, f16] = [await vectors(tiny), await vectors(tiny, { dtype: 'f16' })];
    const difference = largestDifference(f16.data, f32.data);
    expect(difference).toBeGreaterThan(0);
    expect(difference).toBeLessThan(2e-3);
    expect((await vectors(tiny, { dtype: 'fp16' })).bits.equals(f16.bits)).toBe(true);
  });

  it('holds weights that f16 cannot', async () => {
    const files = tinyFiles();
    const weights = changed(files.get('model.safetensors') as Uint8Array, (tensors) => {
      const [name, tensor] = [...tensors].find(([key]) => key.endsWith('0.intermediate.dense.weight'))!;
      const values = new Float32Array(tensor.bytes.slice().buffer);
      values[3] = 1e6;
      tensors.set(name, { ...tensor, bytes: new Uint8Array(values.buffer) });
    });
    files.set('model.safetensors', weights);
    const { data } = await vectors(files, { dtype: 'f16' });
    expect(data.every(Number.isFinite)).toBe(true);
    const error = await failure(packModel(files, { dtype: 'f16' }));
    expect([error.name, error.message]).toEqual(['UnsupportedError', expect.stringMatching(/'f16': expected numbers below 65520/)]);
  });

  it('has the same bits with threads and in workers', async () => {
    const files = tinyFiles({}, 'model-bf16');
    const alone = await vectors(files, { dtype: 'f16', threads: 1 });
    for (const options of [{ threads: 3 }, { worker: true }, { worker: 2 }]) {
      const other = await vectors(files, { dtype: 'f16', ...options });
      expect(other.bits.equals(alone.bits)).toBe(true);
      expect(other.dtype).toBe('f16');
    }
  });

  it.each(['llama', 'gpt2', 'gemma2'])('writes as f32 does: decoders/%s', async (name) => {
    const model = { 'model.gguf': await packModel(join(goldens, 'decoders', name), { dtype: 'f16' }) };
    const input_ids = [[5, 9, 3, 17, 4, 8, 6]];
    const logits = async (dtype: 'f32' | 'f16') => {
      const lm = await AutoModel.from_pretrained(model, { dtype });
      const { last_hidden_state } = await lm({ input_ids });
      await lm.dispose();
      return bits(last_hidden_state.data as Float32Array);
    };
    const written = async (dtype: 'f32' | 'f16') => {
      const generate = await pipeline('text-generation', model, { dtype });
      const [{ generated_text }] = await generate('the river', { max_new_tokens: 12 });
      await generate.dispose();
      return generated_text;
    };
    expect((await logits('f16')).equals(await logits('f32'))).toBe(true);
    expect(await written('f16')).toBe(await written('f32'));
  });

  it('keeps positions that are computed, as f32 does', async () => {
    const model = { 'model.gguf': await packModel(join(goldens, 'seq2seq/marian'), { dtype: 'f16' }) };
    const states = async (dtype: 'f32' | 'f16') => {
      const marian = await AutoModel.from_pretrained(model, { dtype }); // its encoder
      const { last_hidden_state } = await marian({ input_ids: [[5, 9, 3, 17, 4, 8, 6, 1]] });
      await marian.dispose();
      return bits(last_hidden_state.data as Float32Array);
    };
    expect((await states('f16')).equals(await states('f32'))).toBe(true);
  });

  it('fills masks with tied embeddings, as f32 does', async () => {
    const ask = async (dtype: 'f32' | 'f16') => {
      const fill = await pipeline('fill-mask', headFiles('masked_lm'), { dtype });
      const out = (await fill('The [MASK] runs.', { top_k: 3 })) as { token: number; score: number }[];
      await fill.dispose();
      return out;
    };
    const [f32, f16] = [await ask('f32'), await ask('f16')];
    f16.forEach(({ score }, i) => expect(Math.abs(score - (f32[i]?.score ?? 0))).toBeLessThan(1e-3));
  });

  it('is what packModel can write', async () => {
    const bytes = await packModel(tiny, { dtype: 'f16' });
    expect(bytes.length).toBeLessThan(0.7 * (await packModel(tiny, { dtype: 'f32' })).length);
    const [f16, rounded] = [await vectors({ 'model.gguf': bytes }), await vectors(tiny, { dtype: 'f16' })];
    expect(largestDifference(f16.data, rounded.data)).toBeLessThan(1e-3); // the file's positions and token types may stay f32
  });
});
