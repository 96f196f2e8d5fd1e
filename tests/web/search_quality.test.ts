// Index ranks as the Python libraries do: bm25s, sentence-transformers, ranx.
import { Index, pipeline, type EmbedFunction } from 'wattn';
import { readJson, tiny } from './support.js';

const expected = readJson('search', 'expected.json');
const { texts, queries } = expected;
const letters: EmbedFunction = async (all) => all.map((text) => [text.length, 1]);
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
      const found = new Map(
        (await index.search(query, { mode: 'words', top_k: 60 })).map(({ id, why }) => [id, why.words as number]),
      );
      expected.words[q].forEach((score: number, i: number) => expect(found.get(String(i)) ?? 0).toBeCloseTo(score, 5));
    }
  });

  it.each([0, 2])('has it for documents, however they are cut: parts share %d words', async (overlap) => {
    const sevens = (text: string) => {
      const words = [...text.matchAll(/\w+/g)].map(({ index, 0: word }) => ({ start: index, end: index + word.length }));
      const out = [];
      for (let i = 0; i === 0 || i + overlap < words.length; i += 7 - overlap) {
        out.push({ start: words[i]!.start, end: words[Math.min(i + 7, words.length) - 1]!.end });
      }
      return out;
    };
    const cut = await Index.open('golden', { embed: letters, store: 'memory', chunk: sevens });
    await cut.add([...documents, { id: 'gone', title: 'silver', text: 'water light stone tree house cold morning seven silver' }]);
    await cut.search('water', { mode: 'words' }); // its words are read
    await cut.delete('gone');
    expect(cut.info().chunks).toBeGreaterThan(150);
    for (const [q, query] of queries.entries()) {
      const of = expected.words[q];
      const hits = await cut.search(query, { mode: 'words', top_k: 60 });
      expect(hits).toHaveLength(of.filter((score: number) => score > 0).length);
      for (const { id, why } of hits) expect(why.words).toBeCloseTo(of[Number(id)], 5);
      // The best part has its document's score, the others a share of it.
      const parts = await cut.search(query, { mode: 'words', top_k: 1000, group_by: 'chunk' });
      const best = new Map<string, number>();
      for (const { id, why, highlights } of parts) {
        expect(highlights.length).toBeGreaterThan(0);
        best.set(id, Math.max(best.get(id) ?? 0, why.words as number));
      }
      expect(best).toEqual(new Map(hits.map(({ id, why }) => [id, why.words])));
    }
    await cut.dispose();
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

  it('joins coverage and cosine by default, from 0 to 1', async () => {
    const [k1, terms] = [1.5, (text: string): string[] => text.toLowerCase().match(/\w+/g) ?? []];
    const held = texts.map((text: string) => new Set(terms(text)));
    for (const [q, query] of queries.entries()) {
      const hits = await index.search(query, { top_k: 60 });
      let whole = 0;
      for (const term of terms(query)) {
        const holders = held.filter((of: Set<string>) => of.has(term)).length;
        whole += Math.log(1 + (60 - holders + 0.5) / (holders + 0.5)) / (1 + k1);
      }
      for (const { id, score, close, why } of hits) {
        const coverage = Math.min(1, expected.words[q][Number(id)] / whole);
        const trust = why.trust as number;
        expect(why.coverage).toBeCloseTo(coverage, 5);
        const joined = (coverage + 2 * trust * Math.max(0, expected.meaning[q][Number(id)])) / (1 + 2 * trust);
        expect(score).toBeCloseTo(joined, 5);
        expect(close).toBe(score >= 0.38);
      }
      const order = hits.map(({ score }) => score);
      expect(order).toEqual([...order].sort((a, b) => b - a));
    }
  });

  it('says how far it trusts the model: less for unknown words and for words in many pieces', async () => {
    const trust = async (query: string) => (await index.search(query))[0]?.why.trust as number;
    expect(await trust('a small boat')).toBe(1);
    expect(await trust('橋 橋')).toBe(0);
    const half = await trust('boat 橋');
    expect(half).toBeGreaterThan(0.01);
    expect(half).toBeLessThan(0.5);
    expect(await trust('zxqvwyk')).toBeLessThan(0.2);
    // Whatever the weights and the fusion are, a hit is as close as it is.
    for (const query of ['water light stone', 'silver morning', '橋']) {
      const near = new Map((await index.search(query, { top_k: 60 })).map(({ id, close }) => [id, close]));
      for (const other of [{ weights: { words: 0.1, meaning: 3 } }, { fusion: 'minmax' }, { fusion: 'rrf' }] as const) {
        for (const { id, close } of await index.search(query, { top_k: 60, ...other })) expect(close).toBe(near.get(id));
      }
    }
    // Where nothing is known by words and the model is not trusted, the nearest come first all the same.
    const untrusted = (await index.search('橋', { top_k: 60 })).map(({ why }) => why.meaning as number);
    expect(untrusted).toEqual([...untrusted].sort((a, b) => b - a));
    for (const { score, why } of await index.search('橋', { mode: 'meaning' }))
      expect(score).toBe(Math.max(0, why.meaning as number));
    for (const { score, why } of await index.search('water', { mode: 'words', weights: { words: 0 } }))
      expect(score).toBe(why.coverage);
    const byWords = await index.search('water', { mode: 'words' });
    expect(byWords[0]?.why).toMatchObject({ meaning: null, trust: null });
    expect(byWords[0]?.score).toBe(byWords[0]?.why.coverage);
    const own = await Index.open('letters', { embed: letters, store: 'memory' });
    await own.add(documents.slice(0, 3));
    expect((await own.search('橋'))[0]?.why.trust).toBe(1); // a function does not say
    await own.dispose();
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
