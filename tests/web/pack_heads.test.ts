// Packed files include the heads that sentence-transformers and FlagEmbedding store beside a model: LogitScore, and bge-m3's two layers.
import { packModel, packTo, pipeline, type PackOptions, type SparseVector, type TokenVectors } from 'wattn';
import { filesOf, goldens, largestDifference, readJson, type Files } from './support.js';
import { wideFiles } from './wide.js';

const encoded = (value: unknown) => new TextEncoder().encode(typeof value === 'string' ? value : JSON.stringify(value));
const packed = async (files: Files, dtype: PackOptions['dtype']) => ({ 'model.gguf': await packModel(files, { dtype }) });

describe('a packed decoder with LogitScore', () => {
  const { query, documents, cases } = readJson('rerankers/expected.json');
  const named = cases.map((one: any) => [one.name, one]) as [string, any][];
  const filesFor = ({ model, files }: any): Files => {
    const out = wideFiles(`${goldens}/rerankers/${model}`);
    for (const [name, value] of Object.entries(files)) out.set(name, encoded(value));
    return out;
  };
  const scoresOf = async (model: Parameters<typeof pipeline>[1], dtype?: 'q8' | 'f32') => {
    const rank = await pipeline('text-ranking', model, { threads: 1, ...(dtype && { dtype }) });
    const ranked = await rank(query, documents);
    await rank.dispose();
    return ranked.sort((a, b) => a.corpus_id - b.corpus_id).map(({ score }) => score);
  };

  it.each(named)('has the bits of q8 as native, and those of f32 as f32: %s', async (_, one) => {
    const files = filesFor(one);
    expect(await scoresOf(await packed(files, 'native'), 'q8')).toEqual(await scoresOf(files, 'q8'));
    const exact = await scoresOf(files, 'f32');
    expect(await scoresOf(await packed(files, 'f32'))).toEqual(exact);
    const spread = Math.max(...exact) - Math.min(...exact);
    expect(largestDifference(await scoresOf(await packed(files, 'q8')), exact)).toBeLessThan(0.1 * spread + 0.01);
  });
});

describe('packed bge-m3', () => {
  const { texts } = readJson('m3/expected.json') as { texts: string[] };
  const files = (without: string[] = []): Files => {
    const out = filesOf(`${goldens}/m3`);
    for (const name of ['expected.json', ...without]) out.delete(name);
    return out;
  };
  type Given = Parameters<typeof pipeline>[1];
  const tokensOf = async (model: Given, dtype?: 'q8' | 'f32') => {
    const encode = await pipeline('late-interaction', model, { threads: 1, ...(dtype && { dtype }) });
    const all = (await encode.encode_document(texts)) as TokenVectors[];
    await encode.dispose();
    return all.map(({ data, dense, sparse }) => ({ rows: [...data], dense: [...dense!], sparse: plain(sparse as SparseVector) }));
  };
  const plain = ({ indices, values }: SparseVector) => ({ indices: [...indices], values: [...values] });
  const sparseOf = async (model: Given, dtype?: 'q8' | 'f32') => {
    const encode = await pipeline('sparse-encoding', model, { threads: 1, ...(dtype && { dtype }) });
    const all = (await encode(texts)) as SparseVector[];
    await encode.dispose();
    return all.map(plain);
  };
  const denseOf = async (model: Given, dtype?: 'q8' | 'f32') => {
    const embed = await pipeline('feature-extraction', model, { threads: 1, ...(dtype && { dtype }) });
    const { data } = await embed(texts);
    await embed.dispose();
    return [...data];
  };

  it.each([
    ['native', 'q8'],
    ['f32', 'f32'],
  ] as const)('has the three kinds of vectors, as %s with the bits of %s', async (dtype, like) => {
    const one = await packed(files(), dtype);
    expect(await tokensOf(one, like)).toEqual(await tokensOf(files(), like));
    expect(await sparseOf(one, like)).toEqual(await sparseOf(files(), like));
    expect(await denseOf(one, like)).toEqual(await denseOf(files(), like));
  });

  it('is near as q8, in one file that llama.cpp reads where it reads one without those layers', async () => {
    const one = await packed(files(), 'q8');
    const without = await packTo(files(['sparse_linear.pt', 'colbert_linear.pt']), () => {}, { dtype: 'q8' });
    expect(await packTo(files(), () => {}, { dtype: 'q8' })).toEqual({ ...without, bytes: expect.any(Number) });
    const [found, exact] = [await tokensOf(one), await tokensOf(files(), 'f32')];
    found.forEach(({ rows, sparse }, i) => {
      expect(largestDifference(rows, exact[i]!.rows)).toBeLessThan(0.05);
      expect(sparse.indices).toEqual(exact[i]!.sparse.indices);
      expect(largestDifference(sparse.values, exact[i]!.sparse.values)).toBeLessThan(0.05);
    });
  });

  it('packs sparse vectors without the layer of the others', async () => {
    const less = files(['colbert_linear.pt']);
    expect(await sparseOf(await packed(less, 'f32'))).toEqual(await sparseOf(less));
  });
});
