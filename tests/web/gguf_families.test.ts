// GGUF files of every family, and small models' Q4_K_M files, through the package: with the small WebAssembly, or the full one if needed.
// tests/native/tasks/gguf_decoders_test.cpp compares more runs.
import { join } from 'node:path';
import { AutoModelForCausalLM, pipeline } from 'wattn';
import { goldens, readJson } from './support.js';

const { decoders, encoders, prompts, runs } = readJson('gguf-families/expected.json');
const file = (name: string) => join(goldens, `gguf-families/${name}.gguf`);

describe('a GGUF file', () => {
  it.each(Object.keys(decoders))('of %s gives the tokens of transformers', async (name) => {
    const model = await AutoModelForCausalLM.from_pretrained(file(name));
    for (const [i, prompt] of prompts.entries()) {
      const out = await model.generate({ input_ids: [prompt], ...runs.greedy, eos_token_id: 1, pad_token_id: 0 });
      expect((out.tolist() as unknown as bigint[][])[0]!.map(Number).slice(prompt.length)).toEqual(decoders[name].greedy[i]);
    }
    await model.dispose();
  });

  it.each(Object.keys(encoders))('of %s gives the vectors of Python, and near ones in 8 bits', async (name) => {
    const { texts, vectors } = encoders[name];
    const exact = await pipeline('feature-extraction', file(name));
    const held = await pipeline('feature-extraction', file(name), { dtype: 'q8' });
    const [found, near] = [await exact(texts), await held(texts)];
    (vectors.flat() as number[]).forEach((value, i) => expect(Math.abs(found.data[i]! - value)).toBeLessThan(2e-6));
    for (const [i, vector] of (vectors as number[][]).entries()) {
      const cosine = vector.reduce((sum, value, j) => sum + value * near.data[i * vector.length + j]!, 0);
      expect(cosine).toBeGreaterThan(0.99);
    }
    await exact.dispose();
    await held.dispose();
  });
});
