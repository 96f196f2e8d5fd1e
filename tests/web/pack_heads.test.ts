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

describe('a packed Longformer, with the matrices of its global tokens', () => {
  const files = wideFiles(`${goldens}/longformer`);
  for (const name of [
    'cases.json',
    'expected.json',
    'gradients.json',
    'gradients-first.safetensors',
    'gradients-question.safetensors',
  ])
    files.delete(name);
  const text = 'The old boat waits below the bridge. '.repeat(5);
  const answersOf = async (model: Parameters<typeof pipeline>[1], dtype?: 'q16' | 'q8' | 'q4') => {
    const classify = await pipeline('text-classification', model, { threads: 1, ...(dtype && { dtype }) });
    const answer = await pipeline('question-answering', model, { threads: 1, ...(dtype && { dtype }) });
    const out = [await classify(text, { top_k: null }), await answer('Where is the boat?', text)];
    await classify.dispose();
    await answer.dispose();
    return out;
  };

  it('has the bits of q8 as native, and those of f32 as f32', async () => {
    expect(await answersOf(await packed(files, 'native'), 'q8')).toEqual(await answersOf(files, 'q8'));
    expect(await answersOf(await packed(files, 'f32'))).toEqual(await answersOf(files));
  });

  it.each(['q8', 'q4'] as const)('is near as %s', async (dtype) => {
    const scores = (all: any[]) => all[0].map(({ score }: any) => score as number);
    const exact = scores(await answersOf(files));
    expect(largestDifference(scores(await answersOf(await packed(files, dtype))), exact)).toBeLessThan(0.1);
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
