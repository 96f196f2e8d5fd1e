import { Word2Vec, WordVectors, type Word2VecProgress } from 'wattn';
import { expectError, readJson } from './support.js';

const vectors = new WordVectors(
  ['king', 'queen', 'man', 'woman', 'boat', 'Schiff', 'süß', '海'],
  // prettier-ignore
  Float32Array.of(1, 1, 0.1,  1, -1, 0.1,  0, 1, 0.1,  0, -1, 0.1,  -1, 0.1, 1,  -1, 0.2, 1,  0.3, 0.3, -1,  0, 0, 0),
  3,
);
/** Sentences of two topics, from a linear congruence. */
function* topics(count: number): Generator<string[]> {
  let x = 1;
  const next = (n: number) => (x = (x * 48271) % 2147483647) % n;
  for (let i = 0; i < count; ++i) {
    const topic = next(2) ? 'ab' : 'xy';
    yield Array.from({ length: 10 }, () => `${topic[next(2)]}${next(5)}`);
  }
}

describe('WordVectors', () => {
  it('finds what is near, by cosine and by 3CosMul', () => {
    const near = vectors.most_similar('king');
    expect(near.map(([word]) => word)).not.toContain('king');
    // cos(king, man) = 1.01 / (sqrt 2.01 sqrt 1.01)
    expect(near[0]?.[1]).toBeCloseTo(1.01 / Math.sqrt(2.01 * 1.01), 6);
    expect(vectors.analogy('man', 'king', 'woman')[0]?.[0]).toBe('queen');
    expect(vectors.most_similar_cosmul({ positive: ['king', 'woman'], negative: ['man'], topn: 1 })[0]?.[0]).toBe('queen');
    // 3CosMul by hand, for queen.
    const cos = (a: string, b: string) => (1 + vectors.similarity(a, b)) / 2;
    const by_hand = (cos('queen', 'king') * cos('queen', 'woman')) / (cos('queen', 'man') + 1e-6);
    expect(vectors.most_similar_cosmul({ positive: ['king', 'woman'], negative: ['man'], topn: 1 })[0]?.[1]).toBeCloseTo(
      by_hand,
      5,
    );
    expect(vectors.most_similar({ positive: [[0, 0, 2]], topn: 1 })[0]?.[0]).toBe('boat');
    expect(vectors.most_similar({ positive: 'boat', topn: 2, restrict_vocab: 4 }).map(([word]) => word)).toEqual(['man', 'woman']);
    expect(vectors.similarity('boat', 'boat')).toBeCloseTo(1, 6);
    expect(vectors.get('man').tolist()).toEqual([0, 1, Math.fround(0.1)]);
  });

  it('answers as gensim does', () => {
    const golden = readJson('nn/word_vectors.json');
    let x = golden.seed;
    const next = () => Math.floor((((x = (x * 48271) % 2147483647) / 2147483647) * 2 - 1) * 1000 + 0.5) / 1000;
    const words = Array.from({ length: golden.count }, (_, i) => `w${i}`);
    const model = new WordVectors(words, Float32Array.from({ length: golden.count * golden.size }, next), golden.size);
    for (const [name, cases] of [['most_similar', golden.most_similar] as const, ['most_similar_cosmul', golden.cosmul] as const]) {
      for (const { positive, negative, answer } of cases) {
        const found = model[name]({ positive, negative, topn: 6 });
        expect(found.map(([word]) => word)).toEqual(answer.map(([word]: [string]) => word));
        // Cosines of 6 roundings at 2^-24 on each side; a quotient of products may magnify them tenfold.
        found.forEach(([, score], i) => expect(Math.abs(score - answer[i][1])).toBeLessThan(1e-5 * Math.max(1, Math.abs(score))));
      }
    }
    for (const { words: group, answer } of golden.doesnt_match) expect(model.doesnt_match(group)).toBe(answer);
  });

  it('goes through every file format and back', () => {
    for (const options of [{}, { binary: true }, { format: 'glove' as const }]) {
      const bytes = vectors.save(options);
      const again = WordVectors.load(bytes, options);
      expect(again.words).toEqual(vectors.words);
      expect([...again.vectors]).toEqual([...vectors.vectors]);
      expect(WordVectors.load(bytes, { ...options, limit: 2 }).words).toEqual(['king', 'queen']);
      for (let length = 0; length < bytes.length; length += 7) {
        try {
          WordVectors.load(bytes.slice(0, length), options); // whole lines of GloVe are a file of their own
        } catch (error) {
          expect((error as Error).name).toBe('ModelFormatError');
        }
      }
    }
    expect(new TextDecoder().decode(vectors.save()).split('\n').slice(0, 2)).toEqual(['8 3', 'king 1 1 0.1']);
  });

  it('names what is wrong', async () => {
    await expectError(() => vectors.most_similar('tree'), 'InputError', /'tree' is not among the 8 words/);
    await expectError(() => vectors.most_similar({}), 'InputError', /expected words in 'positive' or 'negative'/);
    await expectError(() => vectors.most_similar(undefined as never), 'InputError', /expected words in 'positive' or 'negative'/);
    await expectError(() => vectors.most_similar({ positive: [[1]] }), 'InputError', /a word or 3 numbers/);
    await expectError(() => vectors.doesnt_match([]), 'InputError', /expected words, found none/);
    await expectError(() => WordVectors.load('the 0.1 0.2\n'), 'ModelFormatError', /first line 'words size'.*GloVe/);
    await expectError(
      () => WordVectors.load('1 2\nthe 0.1 x\n'),
      'ModelFormatError',
      /line 2: expected a finite decimal number, found 'x'/,
    );
    for (const word of ['Infinity', '-Infinity', 'NaN', '1e39', '0x10', '0B1', '']) {
      await expectError(() => WordVectors.load(`1 2\nthe 0.1 ${word} \n`), 'ModelFormatError', /line 2: expected/);
    }
    expect(WordVectors.load('1 4\nthe 0 -.5 0e1 +1E-2\n').words).toEqual(['the']);
    await expectError(() => WordVectors.load('2 2\nthe 0.1 1\n'), 'ModelFormatError', /expected 2 words, found 1/);
    await expectError(() => WordVectors.load('999999999 300\n', { binary: true } as never), 'ModelFormatError');
    const spaced = new WordVectors(['two words'], Float32Array.of(1), 1);
    await expectError(() => spaced.save(), 'InputError', /white space/);
  });
});

describe('Word2Vec.train', () => {
  const forms = [{}, { sg: true }, { hs: true, negative: 0 }, { sg: true, hs: true, negative: 0 }];

  it.each(forms)('learns which words go together with %j', async (form) => {
    const model = await Word2Vec.train(topics(500), { vector_size: 12, window: 4, epochs: 20, sample: 0, min_count: 2, ...form });
    expect(model.size).toBe(20);
    for (const word of ['a0', 'y4']) {
      const topic = 'ab'.includes(word[0] as string) ? 'ab' : 'xy';
      const near = model.most_similar({ positive: word, topn: 5 }).filter(([other]) => topic.includes(other[0] as string));
      expect(near.length).toBe(5);
    }
  });

  it('gives the same vectors from the same seed, counts words, and leaves out rare ones', async () => {
    const text = 'the boat is on the river\nthe river is deep\nonce';
    const options = { min_count: 1, vector_size: 8, epochs: 2, sample: 0 };
    const [a, b, c] = await Promise.all([
      Word2Vec.train(text, options),
      Word2Vec.train(text.split('\n'), options),
      Word2Vec.train(text, { ...options, seed: 2 }),
    ]);
    expect([...a.vectors]).toEqual([...b.vectors]);
    expect([...a.vectors]).not.toEqual([...c.vectors]);
    const sum = await Word2Vec.train(text, { ...options, cbow_mean: false });
    expect([...a.vectors]).not.toEqual([...sum.vectors]);
    expect(sum.vectors.every(Number.isFinite)).toBe(true);
    expect(a.words[0]).toBe('the');
    expect(a.counts[0]).toBe(3);
    expect((await Word2Vec.train(text, { ...options, min_count: 2 })).words).toEqual(['the', 'is', 'river']);
  });

  it('tells how far it is and can be cancelled', async () => {
    const told: Word2VecProgress[] = [];
    await Word2Vec.train(topics(3000), { epochs: 2, vector_size: 8, progress_callback: (progress) => told.push(progress) });
    const percent = told.filter(({ status }) => status === 'train').map(({ progress }) => progress as number);
    expect(percent.length).toBeGreaterThan(3);
    expect(percent).toEqual([...percent].sort((a, b) => a - b));
    expect(percent.at(-1)).toBe(100);
    expect(told.at(-1)).toEqual({ status: 'ready' });
    const controller = new AbortController();
    const running = Word2Vec.train(topics(3000), {
      epochs: 10_000,
      vector_size: 8,
      signal: controller.signal,
      progress_callback: ({ status }) => status === 'train' && controller.abort(),
    });
    await expectError(running, 'AbortError');
  });

  it('names what is wrong', async () => {
    await expectError(Word2Vec.train('a b c'), 'InputError', /at least min_count times, found none/);
    await expectError(Word2Vec.train(42 as never), 'InputError', /\(async\) iterable of sentences, found 42/);
    await expectError(Word2Vec.train([['a', 1]] as never), 'InputError', /as sentence 0/);
    await expectError(Word2Vec.train('a', { vector_size: 0 }), 'InputError', /'vector_size': expected a whole number from 1 on/);
    await expectError(Word2Vec.train('a', { min_count: 1, negative: 0 }), 'InputError', /expected negative above 0 or hs: true/);
    await expectError(Word2Vec.train('a', { alpha: NaN }), 'InputError', /'alpha': expected a number from 0 on/);
    await expectError(Word2Vec.train('a', { size: 3 } as never), 'InputError', /unknown option 'size'/);
  });
});
