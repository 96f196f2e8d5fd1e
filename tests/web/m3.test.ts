// The three kinds of vectors of bge-m3, from tests/goldens/m3.
import { AutoTokenizer, pipeline, type SparseVector, type TokenVectors } from 'wattn';
import { expectError, filesOf, goldens, largestDifference, readJson, type Files } from './support.js';

const { width, vectors, scores, ...expected } = readJson('m3/expected.json');
const texts: string[] = expected.texts;
const files = (without: string[] = []): Files => {
  const out = filesOf(`${goldens}/m3`);
  for (const name of ['expected.json', ...without]) out.delete(name);
  return out;
};

const expectSparse = ({ indices, values }: Pick<SparseVector, 'indices' | 'values'>, one: any) => {
  expect([...indices]).toEqual(one.indices);
  expect(largestDifference(values, one.values)).toBeLessThanOrEqual(4 * one.f32_diff);
};

describe('bge-m3', () => {
  it("has FlagEmbedding's vectors of all three kinds, from one pass", async () => {
    const model = await pipeline('late-interaction', files(), { threads: 1 });
    const dense = await (await pipeline('feature-extraction', files(), { threads: 1 }))(texts);
    const encoded = (await model.encode_document(texts)) as TokenVectors[];
    const queries = await model.encode_query(texts);
    encoded.forEach((one, i) => {
      const expected = vectors[i];
      expect([...one.ids]).toEqual(expected.ids.slice(1));
      expect(one.dims).toEqual([expected.ids.length - 1, width]);
      expect(largestDifference(one.data, expected.rows)).toBeLessThanOrEqual(4 * expected.f32_diff);
      expect(largestDifference(one.dense as Float32Array, expected.dense)).toBeLessThanOrEqual(4 * expected.f32_diff);
      expect([...(one.dense as Float32Array)]).toEqual([...dense.data.slice(24 * i, 24 * (i + 1))]);
      expectSparse(one.sparse as SparseVector, expected);
      expect(one.sparse).toMatchObject({ tokens: one.tokens, truncated: one.truncated, unknown: one.unknown });
      expect(queries[i]).toEqual(one);
    });
    expect(encoded.map(({ truncated }) => truncated)).toEqual([false, false, false, false, false, false, true]);
    const found = encoded.map((query) => model.max_sim(query, encoded));
    expect(largestDifference(found.flat(), scores.flat())).toBeLessThan(1e-5);
    for (const against of [texts[0] as string, encoded[0] as TokenVectors]) {
      const ranked = await model(against, texts);
      for (const { corpus_id, score } of ranked) expect(score).toBe(found[0]?.[corpus_id]);
    }
    await model.dispose();
  });

  it('gives sparse vectors by themselves, without the layer of the others', async () => {
    const encode = await pipeline('sparse-encoding', files(['colbert_linear.pt']), { threads: 1 });
    const all = await encode(texts);
    all.forEach((one, i) => expectSparse(one, vectors[i]));
    const products = await encode.similarity(all, all);
    const [a, b] = all as [SparseVector, SparseVector];
    const sum = [...a.indices].reduce((sum, id, i) => sum + (a.values[i] as number) * (b.values[b.indices.indexOf(id)] ?? 0), 0);
    expect(products.data[1]).toBeCloseTo(sum, 5);
    const few = await encode(texts[1] as string, { max_active_dims: 2 });
    expect([...few.values].sort()).toEqual([...b.values].sort((x, y) => y - x).slice(0, 2).sort()); // prettier-ignore
    const tokenizer = await AutoTokenizer.from_pretrained(files());
    const [best] = await encode.decode(b, { top_k: 1 });
    expect(best?.word).toBe(tokenizer.convert_ids_to_tokens([best?.id as number])[0]);
    await encode.dispose();
  });

  it('has the same bits alone, in a batch, with threads and in workers, without modules.json too', async () => {
    const one = await pipeline('late-interaction', files(), { threads: 1 });
    const all = await one.encode_document(texts);
    const bare = files(['modules.json', 'config_sentence_transformers.json', 'sentence_bert_config.json']);
    for (const [own, options] of [
      [files(), { threads: 2 }],
      [files(), { worker: true }],
      [bare, {}],
    ] as const) {
      // prettier-ignore
      const other = await pipeline('late-interaction', own, options);
      expect(await other.encode_document(texts)).toEqual(all);
      expect(await other.encode_document(texts[1] as string)).toEqual(all[1]);
      await other.dispose();
    }
    await one.dispose();
  });

  it('refuses layers that it cannot read, by name', async () => {
    await expectError(
      pipeline('late-interaction', files(['colbert_linear.pt'])),
      'ModelFormatError',
      /colbert_linear.pt: expected this file/,
    );
    const swapped = files();
    const colbert = swapped.get('colbert_linear.pt') as Uint8Array;
    await expectError(
      pipeline('sparse-encoding', swapped.set('sparse_linear.pt', colbert)),
      'UnsupportedError',
      /sparse_linear.pt: weight: expected one row, found 16/,
    );
    const broken = files().set('sparse_linear.pt', colbert.slice(0, 100));
    await expectError(pipeline('sparse-encoding', broken), 'ModelFormatError', /sparse_linear.pt/);
    const config = JSON.parse(new TextDecoder().decode(files().get('config.json')));
    const wider = files().set('config.json', new TextEncoder().encode(JSON.stringify({ ...config, hidden_size: 48 })));
    await expectError(
      pipeline('sparse-encoding', wider),
      'ModelFormatError',
      /sparse_linear.pt: weight: expected the model's hidden_size 48 columns, found 24/,
    );
  });
});
