// Helper threads: the same bits, started before use, and released.
import { availableParallelism } from 'node:os';
import { AutoModel, env, pipeline } from 'wattn';
import { mixedTexts, tiny } from './support.js';

const texts = mixedTexts(60);

async function vectors(options: object): Promise<{ bits: Buffer; info: { threads: number; threads_reason?: string } }> {
  const embed = await pipeline('feature-extraction', tiny, options);
  const { data } = await embed(texts);
  const again = await embed(texts);
  expect(again.data).toEqual(data);
  await embed.dispose();
  return { bits: Buffer.from(data.buffer), info: embed.info() };
}

describe('threads', () => {
  for (const dtype of ['f32', 'f16', 'q16', 'q8', 'q4']) {
    it(`change no bit of ${dtype}`, async () => {
      const alone = await vectors({ dtype, threads: 1 });
      expect(alone.info).toMatchObject({ threads: 1, threads_reason: 'one thread was requested' });
      for (const threads of [2, 3]) {
        const together = await vectors({ dtype, threads });
        expect(together.info.threads).toBe(threads);
        expect(together.info.threads_reason).toBeUndefined();
        expect(together.bits.equals(alone.bits)).toBe(true);
      }
    });
  }

  it('join a model that did not wait for them, and change no bit of it', async () => {
    const embed = await pipeline('feature-extraction', tiny);
    const first = await embed(texts);
    await embed.warmup();
    expect(embed.info().threads).toBe(Math.min(4, availableParallelism()));
    expect((await embed(texts)).data).toEqual(first.data);
    await embed.dispose();
  });

  it('that were still on their way when the model went end with it', async () => {
    const embed = await pipeline('feature-extraction', tiny);
    await embed.dispose();
    await expect(embed.warmup()).rejects.toMatchObject({ name: 'StateError' });
    expect(embed.info().threads).toBe(1);
  });

  it('are also those of AutoModel', async () => {
    const model = await AutoModel.from_pretrained(tiny, { threads: 2 });
    const alone = await AutoModel.from_pretrained(tiny, { threads: 1 });
    const inputs = { input_ids: Array.from({ length: 40 }, (_, i) => Array.from({ length: 12 }, (_, j) => 5 + ((i * j) % 90))) };
    const [a, b] = [await model(inputs, { output_attentions: true }), await alone(inputs, { output_attentions: true })];
    expect(a.last_hidden_state.data).toEqual(b.last_hidden_state.data);
    expect(a.attentions?.[1]?.data).toEqual(b.attentions?.[1]?.data);
    expect(model.info().threads).toBe(2);
    await model.dispose();
    await alone.dispose();
  });

  it('are done without, and say why, when the WebAssembly is given', async () => {
    const { readFileSync } = await import('node:fs');
    env.wasm = { binary: readFileSync(new URL('../../dist/wattn-simd.wasm', import.meta.url)) };
    try {
      const { info } = await vectors({ threads: 4 });
      expect(info).toMatchObject({ threads: 1, threads_reason: 'env.wasm names the WebAssembly' });
    } finally {
      env.wasm = {};
    }
  });

  it('do nothing while there is nothing to do', async () => {
    const embed = await pipeline('feature-extraction', tiny, { threads: 3 });
    await embed(texts);
    let least = Infinity; // of a few looks: the engine may be compiling still
    for (let look = 0; look < 5 && least >= 0.5; ++look) {
      const [start, before] = [performance.now(), process.cpuUsage()];
      await new Promise((resolve) => setTimeout(resolve, 400));
      const { user, system } = process.cpuUsage(before); // microseconds of all threads
      least = Math.min(least, (user + system) / 1000 / (performance.now() - start));
    }
    expect(least).toBeLessThan(0.5); // two helpers that spin would be 2, or what the machine has
    await embed.dispose();
  });

  it('refuse a number that is none', async () => {
    await expect(pipeline('feature-extraction', tiny, { threads: 0 })).rejects.toMatchObject({ name: 'InputError' });
  });
});

describe('warmup', () => {
  it('runs, changes nothing, and ends', async () => {
    for (const options of [{}, { worker: 2 }]) {
      const embed = await pipeline('feature-extraction', tiny, options);
      const before = await embed(texts);
      await embed.warmup();
      expect((await embed(texts)).data).toEqual(before.data);
      await embed.dispose();
    }
  });
});
