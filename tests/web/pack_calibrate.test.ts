// The option `calibrate` of packModel: 4-bit rounding based on the layers' inputs.
import { join } from 'node:path';
import { packModel, packTo, pipeline, type PackOptions } from 'wattn';
import { halfToFloat } from '../../web/core/half.js';
import { Rounding } from '../../web/pack/rounding.js';
import { toBlocks } from '../../web/source/gguf_writer.js';
import { changed, floats } from './safetensors.js';
import { expectError, goldens, tiny } from './support.js';
import { wideFiles } from './wide.js';

let seed = 5;
const random = () => (seed = (seed * 48271) % 2147483647) / 2147483647;
const normal = () => Math.sqrt(-2 * Math.log(random())) * Math.cos(2 * Math.PI * random());

/** What blocks mean: a scale in f16 and 32 numbers of four bits, less 8. */
const meantBy = (blocks: Uint8Array) => {
  const view = new DataView(blocks.buffer, blocks.byteOffset, blocks.length);
  return Float64Array.from({ length: (blocks.length / 18) * 32 }, (_, i) => {
    const at = Math.floor(i / 32) * 18;
    const both = view.getUint8(at + 2 + (i % 16));
    return halfToFloat(view.getUint16(at, true)) * ((i % 32 < 16 ? both & 15 : both >> 4) - 8);
  });
};

describe('Rounding', () => {
  const [n, rows] = [96, 40];
  // Inputs that depend on each other, and some that are large.
  const mixing = Array.from({ length: n * 12 }, normal);
  const inputs = Array.from({ length: 400 }, () => {
    const hidden = Array.from({ length: 12 }, normal);
    return Float64Array.from({ length: n }, (_, i) =>
      hidden.reduce((sum, each, k) => sum + each * (mixing[12 * i + k] as number), (i % 30 === 0 ? 20 : 1) * normal()),
    );
  });
  const sums = () => {
    const out = new Float32Array(n * n);
    for (const x of inputs) for (let i = 0; i < n; ++i) for (let j = 0; j < n; ++j) out[i * n + j]! += x[i]! * x[j]!;
    return out;
  };
  const weights = Float32Array.from({ length: rows * n }, () => 0.05 * normal());
  /** The sum of squares of what changes in the products with the inputs. */
  const errorOf = (blocks: Uint8Array, values = weights) => {
    const meant = meantBy(blocks);
    let sum = 0;
    for (const x of inputs) {
      for (let row = 0; row < values.length; row += n) {
        let change = 0;
        for (let i = 0; i < n; ++i) change += (meant[row + i]! - values[row + i]!) * x[i]!;
        sum += change * change;
      }
    }
    return sum;
  };

  it('changes products with the inputs much less than the nearest numbers do', () => {
    expect(errorOf(new Rounding(sums(), n).blocks(weights))).toBeLessThan(0.19 * errorOf(toBlocks(weights, 'q4', n)));
  });

  it('keeps what four bits have, zeros too', () => {
    const whole = Float32Array.from({ length: 4 * n }, (_, i) => (i % n < 32 ? 0 : 0.25 * ((i % 16) - 8)));
    expect([...meantBy(new Rounding(sums(), n).blocks(whole))].map((x) => x + 0)).toEqual([...whole]);
  });

  it('is no worse than the nearest numbers where inputs are alike, or none was seen', () => {
    const same = new Float32Array(n * n);
    for (let i = 0; i < n; ++i) same[i * n + i] = 3;
    const error = (blocks: Uint8Array) => meantBy(blocks).reduce((sum, each, i) => sum + (each - weights[i]!) ** 2, 0);
    const plain = error(toBlocks(weights, 'q4', n));
    for (const seen of [same, new Float32Array()]) {
      const found = error(new Rounding(seen, n).blocks(weights));
      expect(found).toBeLessThanOrEqual(1.0001 * plain);
      expect(found).toBeGreaterThan(0.8 * plain);
    }
  });

  it('rounds each row by itself', () => {
    const all = new Rounding(sums(), n).blocks(weights);
    const rounding = new Rounding(sums(), n);
    const parts = Array.from({ length: rows }, (_, row) => [...rounding.blocks(weights.slice(row * n, (row + 1) * n))]);
    expect([...all]).toEqual(parts.flat());
  });
});

describe('packModel with texts to calibrate', () => {
  const words = ['the', 'old', 'bridge', 'a', 'river', 'and', 'its', 'bank', 'boat', 'bird', 'sing', 'wind', 'rain', 'house'];
  const textOf = () =>
    Array.from({ length: 4 + Math.floor(8 * random()) }, () => words[Math.floor(words.length * random())]).join(' ');
  const calibrate = Array.from({ length: 150 }, textOf);
  const others = Array.from({ length: 40 }, textOf);
  const model = wideFiles(join(goldens, 'bert-tiny/model'));
  // Tables that four bits have: what is left is the layers' error.
  const weights = changed(model.get('model.safetensors') as Uint8Array, (tensors) => {
    const tables = [...tensors].filter(([name]) => /_embeddings\.weight$/.test(name));
    for (const [name, { shape }] of tables) {
      let at = 0;
      tensors.set(
        name,
        floats(shape, () => 0.25 * ((at++ % 32 === 0 ? 0 : Math.floor(16 * random())) - 8)),
      );
    }
  });
  model.set('model.safetensors', weights);
  const vectors = async (bytes: Parameters<typeof pipeline>[1]) => {
    const embed = await pipeline('feature-extraction', bytes, { threads: 1, dtype: 'f32' });
    const { data } = await embed(others, { pooling: 'mean' });
    await embed.dispose();
    return data as Float32Array;
  };
  const packed = (options: PackOptions) => packModel(model, options);
  const errorOf = async (options: PackOptions, exact: Float32Array) => {
    const found = await vectors({ 'model.gguf': await packed(options) });
    return found.reduce((sum, each, i) => sum + (each - exact[i]!) ** 2, 0);
  };

  it.each(['q4', 'mixed'] as const)('changes vectors of other texts less: %s', async (dtype) => {
    const exact = await vectors(model);
    const plain = await errorOf({ dtype }, exact);
    expect(await errorOf({ dtype, calibrate }, exact)).toBeLessThan(0.6 * plain);
  });

  it('writes a file of the same form, and the same one again', async () => {
    const report = await packTo(model, () => {}, { dtype: 'q4' });
    const bytes = await packed({ dtype: 'q4', calibrate });
    expect(await packTo(model, () => {}, { dtype: 'q4', calibrate })).toEqual(report);
    expect(bytes.length).toBe(report.bytes);
    expect(Buffer.compare(bytes, await packed({ dtype: 'q4', calibrate }))).toBe(0);
    expect(Buffer.compare(bytes, await packed({ dtype: 'q4' }))).not.toBe(0);
  });

  it('goes together with a smaller vocabulary and fewer components', async () => {
    const options = { dtype: 'q4', vocab: 300, corpus: others, dim: 32 } as const;
    const embed = await pipeline('feature-extraction', { 'model.gguf': await packed({ ...options, calibrate }) });
    expect((await embed('the old bridge')).dims).toEqual([1, 32]);
    await embed.dispose();
  });

  it.each<[string, PackOptions, RegExp]>([
    ['a string', { dtype: 'q4', calibrate: 'text' as any }, /'calibrate': expected an array of texts, found 'text'/],
    ['no texts', { dtype: 'q4', calibrate: [] }, /'calibrate': expected texts, found none/],
    ['a number', { dtype: 'q4', calibrate: ['a', 1 as any] }, /'calibrate': expected a string at index 1, found 1/],
    ['8 bits', { calibrate }, /'calibrate': expected dtype 'q4' or 'mixed', .* found 'q8'/],
    ['fewer layers', { dtype: 'q4', calibrate, layers: [0] }, /'calibrate': expected no option 'layers'/],
  ])('refuses %s', async (_, options, message) => {
    await expectError(packModel(tiny, options), 'InputError', message);
  });
});
