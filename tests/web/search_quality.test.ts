// Index ranks as the Python libraries do: bm25s, sentence-transformers, ranx.
import { Index, pipeline } from 'wattn';
import { readJson, tiny } from './support.js';

const expected = readJson('search', 'expected.json');
const { texts, queries } = expected;
const documents = texts.map((text: string, i: number) => ({ id: String(i), text }));

describe('Index beside Python', () => {
  let embed: Awaited<ReturnType<typeof pipeline<'feature-extraction'>>>;
  let index: Index;
  beforeAll(async () => {
    embed = await pipeline('feature-extraction', tiny);
    index = await Index.open('golden', { embed, store: 'memory', precision: 'float32', chunk: false });
    await index.add(documents);
  });
  afterAll(async () => {
    await index.dispose();
    await embed.dispose();
  });

  it('has the BM25 of bm25s', async () => {
    for (const [q, query] of queries.entries()) {
      const found = new Map((await index.search(query, { mode: 'words', top_k: 60 })).map(({ id, score }) => [id, score]));
      expected.words[q].forEach((score: number, i: number) => expect(found.get(String(i)) ?? 0).toBeCloseTo(score, 5));
    }
  });

  it('has the cosines of sentence-transformers', async () => {
    for (const [q, query] of queries.entries()) {
      const hits = await index.search(query, { mode: 'meaning', top_k: 60 });
      expect(hits).toHaveLength(60);
      for (const { id, score } of hits) expect(score).toBeCloseTo(expected.meaning[q][Number(id)], 5);
    }
  });

  it.each(['rrf', 'minmax', 'zscore'] as const)('fuses as %s', async (fusion) => {
    for (const [q, query] of queries.entries()) {
      const of = expected.fused[fusion][q];
      if (!of) continue; // no word of it occurs
      const hits = await index.search(query, { fusion, top_k: 60 });
      // Where texts have equal BM25, reciprocal ranks depend on the order of equal ones.
      const tied =
        fusion === 'rrf'
          ? texts.map(
              (_: string, i: number) =>
                expected.words[q].indexOf(expected.words[q][i]) !== expected.words[q].lastIndexOf(expected.words[q][i]),
            )
          : [];
      let compared = 0;
      for (const { id, score } of hits) {
        if (tied[Number(id)] && expected.words[q][Number(id)] > 0) continue;
        ++compared;
        expect(score).toBeCloseTo(of[id] ?? 0, 3);
      }
      expect(compared).toBeGreaterThan(30);
    }
  });

  it.each(['int8', 'binary'] as const)('finds nearly the same with %s', async (precision) => {
    const small = await Index.open('golden', { embed, store: 'memory', precision, chunk: false });
    await small.add(documents);
    for (const query of queries) {
      const best = (await index.search(query, { mode: 'meaning', top_k: 60 })).map(({ id, score }) => [id, score]);
      const own = new Map((await small.search(query, { mode: 'meaning', top_k: 60 })).map(({ id, score }) => [id, score]));
      for (const [id, score] of best) expect(own.get(id as string)).toBeCloseTo(score as number, 2);
    }
    expect(small.info()).toMatchObject({ precision, documents: 60, chunks: 60 });
    await small.dispose();
  });
});
