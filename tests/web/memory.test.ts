// A model's memory: as memory() reports, and constant over any number of calls.
import { pipeline } from 'wattn';
import { madeMemories, mixedTexts, tiny } from './support.js';

describe('memory', () => {
  const made = madeMemories();

  it('does not grow over 10,000 mixed calls', async () => {
    const embed = await pipeline('feature-extraction', tiny, { threads: 2 });
    const texts = mixedTexts(300);
    const promised = embed.memory().total;
    const round = async (calls: number) => {
      for (let i = 0; i < calls; ++i) {
        const text = texts[i % 300] as string;
        if (i % 97 === 0) await embed(texts);
        else if (i % 5 === 0) await embed([text, texts[(7 * i) % 300] as string], { pooling: 'none' });
        else if (i % 3 === 0) embed.tokenizer(text, { return_offsets_mapping: true });
        else await embed(text);
      }
    };
    await round(400);
    const { buffer } = made.at(-1) as WebAssembly.Memory;
    const held = buffer.byteLength;
    await round(10_000);
    expect((made.at(-1) as WebAssembly.Memory).buffer.byteLength).toBe(held);
    expect(held).toBeGreaterThan(promised);
    expect(held).toBeLessThan(promised + 8e6); // 4 MB to begin with; the tokenizer, the call's own texts and vectors
    await embed.dispose();
  });
});
