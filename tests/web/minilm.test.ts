import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { AutoModel, AutoTokenizer, pipeline } from 'wattn';
import { largestDifference, readFloats, readJson, root } from './support.js';

const place = join(process.env.WATTN_MODELS_DIR ?? join(root, '.models'), 'all-MiniLM-L6-v2');

/** Why these tests cannot run here, or undefined. */
function reasonToSkip(): string | undefined {
  if (!existsSync(place)) return `no checkpoint at ${place} (npm run test:models fetches it)`;
  const hashes: Record<string, string> = readJson('MANIFEST.json').parts.minilm.sources.sha256;
  for (const name of [
    'model.safetensors',
    'tokenizer.json',
    'config.json',
    'modules.json',
    '1_Pooling/config.json',
    'sentence_bert_config.json',
  ]) {
    const file = join(place, name);
    const found = existsSync(file) ? createHash('sha256').update(readFileSync(file)).digest('hex') : 'no such file';
    if (found !== hashes[name]) return `${file} is not the one that the goldens were made from (${found})`;
  }
  return undefined;
}

const reason = reasonToSkip();
const real = reason === undefined ? describe : describe.skip;

real(`all-MiniLM-L6-v2${reason === undefined ? '' : ` (skipped: ${reason})`}`, () => {
  const texts: string[] = readJson('minilm/texts.json').map(([, text]: [string, string]) => text);
  const tokens: any[] = readJson('minilm/tokens.json');

  it('gives the ids, offsets and masks of the reference for 389 texts', async () => {
    const tokenizer = await AutoTokenizer.from_pretrained(place);
    const options = {
      return_tensor: false,
      max_length: 256,
      return_offsets_mapping: true,
      return_special_tokens_mask: true,
    } as const;
    const utf16 = tokenizer(texts, options);
    const points = tokenizer(texts, { ...options, offsets: 'codepoint' });
    tokens.forEach((expected, i) => {
      expect(utf16.input_ids[i]).toEqual(expected.ids);
      expect(points.offset_mapping?.[i]?.flat()).toEqual(expected.offsets);
      expect(utf16.offset_mapping?.[i]?.flat()).toEqual(expected.offsets_utf16 ?? expected.offsets);
      expect(utf16.special_tokens_mask?.[i]?.join('')).toBe(expected.special);
      expect(utf16.truncated[i]).toBe(expected.tokens_before_truncation > expected.ids.length);
    });
    await tokenizer.dispose();
  });

  // PyTorch's own float32 runs are within 2.6e-7 of each other and of the exact answer (summary.json). What is within 1.7e-6
  // of the exact answer is within 2e-6 of every one of them.
  it('gives the vectors of the reference for 389 texts, each component within 1.7e-6', async () => {
    const embed = await pipeline('feature-extraction', place);
    const out = await embed(texts);
    expect(out.dims).toEqual([389, 384]);
    expect(largestDifference(out.data, readFloats('minilm/embeddings.f32'))).toBeLessThanOrEqual(1.7e-6);
    expect([...out.tokens]).toEqual(tokens.map(({ ids }) => ids.length));
    for (const i of [0, 7, 40, 53, 388]) expect((await embed(texts[i] as string)).data).toEqual(out.get(i).data);
    await embed.dispose();
  });

  it('gives the last hidden states of the reference', async () => {
    const [model, tokenizer] = await Promise.all([AutoModel.from_pretrained(place), AutoTokenizer.from_pretrained(place)]);
    const floats = readFloats('minilm/last_hidden_state.f32');
    for (const { text, shape, offset } of readJson('minilm/summary.json').last_hidden_state) {
      const { last_hidden_state } = await model(tokenizer(text));
      expect(last_hidden_state.dims).toEqual([1, ...shape]);
      // The bound above is for vectors of length 1; these are longer.
      for (let row = 0; row < shape[0]; ++row) {
        const exact = floats.subarray(offset + row * shape[1], offset + (row + 1) * shape[1]);
        expect(largestDifference(last_hidden_state.slice(0, row).data, exact)).toBeLessThanOrEqual(1.7e-6 * Math.hypot(...exact));
      }
    }
    await model.dispose();
    await tokenizer.dispose();
  });

  // What quantised weights cost, as cosines to the exact answer. All texts, the hostile ones too.
  it.each([
    ['f16', 1e-6, 1e-5, 46.5e6],
    ['q16', 1e-7, 3e-7, 48e6],
    ['q8', 1.2e-3, 5e-3, 26e6],
    ['q4', 3e-2, 1e-1, 23e6],
  ] as const)('stays near them with dtype %s, in the memory it promises', async (dtype, mean, most, bytes) => {
    const embed = await pipeline('feature-extraction', place, { dtype });
    const out = await embed(texts);
    const exact = readFloats('minilm/embeddings.f32');
    const distances = texts.map((_, i) => {
      const [a, b] = [out.data.subarray(i * 384, (i + 1) * 384), exact.subarray(i * 384, (i + 1) * 384)];
      return 1 - a.reduce((sum, x, j) => sum + x * (b[j] as number), 0) / Math.hypot(...a) / Math.hypot(...b);
    });
    expect(distances.reduce((sum, x) => sum + x, 0) / texts.length).toBeLessThan(mean);
    expect(Math.max(...distances)).toBeLessThan(most);
    expect(embed.memory().weights).toBeLessThan(bytes);
    const alone = await embed(texts[100] as string);
    expect(Buffer.from(alone.data.buffer)).toEqual(Buffer.from(out.data.slice(100 * 384, 101 * 384).buffer));
    await embed.dispose();
  });
});

// Real sentences: the test set of STS-B, read where it lies.
const stsb = join(root, '../shared/data/pairs/stsb/sts-test.csv');
const withSentences = existsSync(join(place, 'model.safetensors')) && existsSync(stsb) ? describe : describe.skip;

/** Ranks from 0, ties in the middle. */
function ranks(values: readonly number[]): number[] {
  const order = values.map((value, i) => ({ value, i })).sort((a, b) => a.value - b.value);
  const out = new Array<number>(values.length);
  for (let begin = 0; begin < order.length;) {
    let end = begin;
    while (end < order.length && order[end]?.value === order[begin]?.value) ++end;
    for (const { i } of order.slice(begin, end)) out[i] = (begin + end - 1) / 2;
    begin = end;
  }
  return out;
}

function spearman(a: readonly number[], b: readonly number[]): number {
  const centred = [a, b].map((values) => {
    const rank = ranks(values);
    const mean = rank.reduce((sum, x) => sum + x, 0) / rank.length;
    return rank.map((x) => x - mean);
  }) as [number[], number[]];
  const dot = (x: number[], y: number[]) => x.reduce((sum, value, i) => sum + value * (y[i] as number), 0);
  return dot(...centred) / Math.sqrt(dot(centred[0], centred[0]) * dot(centred[1], centred[1]));
}

withSentences(`number formats on real sentences (of ${stsb.slice(root.length)})`, () => {
  const rows = existsSync(stsb) ? readFileSync(stsb, 'utf8').trim().split('\n') : [];
  const pairs = rows
    .slice(0, 500)
    .map((row) => row.split('\t'))
    .map((cells) => ({ score: Number(cells[4]), texts: [cells[5], cells[6]] as string[] }));
  const sentences = [...new Set(pairs.flatMap(({ texts }) => texts))];
  const number = new Map(sentences.map((sentence, i) => [sentence, i]));

  it('keep to vectors and rank as f32 does', async () => {
    const vectors = async (dtype: 'f32' | 'q16' | 'q8' | 'q4') => {
      const embed = await pipeline('feature-extraction', place, { dtype });
      const { data } = await embed(sentences);
      await embed.dispose();
      return Array.from(sentences, (_, i) => data.subarray(i * 384, (i + 1) * 384)); // of length 1
    };
    const cosine = (a: Float32Array, b: Float32Array) => a.reduce((sum, x, i) => sum + x * (b[i] as number), 0);
    const quality = (all: Float32Array[]) => {
      const similarity = pairs.map(({ texts }) => texts.map((text) => all[number.get(text) as number] as Float32Array));
      return spearman(
        similarity.map(([a, b]) => cosine(a as Float32Array, b as Float32Array)),
        pairs.map(({ score }) => score),
      );
    };
    const exact = await vectors('f32');
    expect(quality(exact)).toBeCloseTo(0.92767, 3); // sentence-transformers on these pairs (on all 1,379: 0.8203 there and here)
    const bounds = {
      q16: { mean: 1e-6, most: 1e-6, component: 1e-4, ranks: 0.002 },
      q8: { mean: 5e-4, most: 2e-3, component: 0.02, ranks: 0.002 },
      q4: { mean: 1e-2, most: 2e-2, component: 0.05, ranks: 0.01 },
    };
    for (const dtype of ['q16', 'q8', 'q4'] as const) {
      const close = await vectors(dtype);
      const differences = exact.map((vector, i) => {
        const other = close[i] as Float32Array;
        const distance = 1 - cosine(vector, other) / Math.sqrt(cosine(vector, vector) * cosine(other, other));
        return { distance, component: largestDifference(vector, other) };
      });
      const { mean, most, component, ranks } = bounds[dtype];
      expect(Math.abs(quality(close) - quality(exact))).toBeLessThan(ranks);
      expect(differences.reduce((sum, { distance }) => sum + distance, 0) / exact.length).toBeLessThan(mean);
      expect(Math.max(...differences.map(({ distance }) => distance))).toBeLessThan(most);
      expect(Math.max(...differences.map((each) => each.component))).toBeLessThan(component);
    }
  });
});
