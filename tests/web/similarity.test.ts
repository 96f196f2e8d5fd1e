import { cos_sim, dot_score, InputError, semantic_search, Tensor } from 'wattn';
import { failure } from './support.js';

describe('cos_sim and dot_score', () => {
  it('take lists, typed arrays and Tensors', () => {
    expect(cos_sim([1, 0], [1, 1])).toBeCloseTo(Math.SQRT1_2, 15);
    expect(cos_sim(Float32Array.of(2, 0), [-3, 0])).toBe(-1);
    expect(cos_sim(new Tensor('float32', [3, 4], [2]), new Tensor('float32', [3, 4], [1, 2]))).toBeCloseTo(1, 15);
    expect(cos_sim([0, 0], [1, 1])).toBe(0);
    expect(dot_score([1, 2], [3, 4])).toBe(11);
  });

  it('refuse what is no pair of vectors', async () => {
    expect((await failure(() => cos_sim([1], [1, 2]))).message).toMatch(/one length, found 1 and 2/);
    expect((await failure(() => cos_sim(new Tensor('float32', [1, 2, 3, 4], [2, 2]), [1, 2]))).message).toMatch(
      /found a Tensor of dims \[2,2\]/,
    );
    expect(await failure(() => cos_sim('a' as any, [1]))).toBeInstanceOf(InputError);
    expect((await failure(() => dot_score([1, 'b' as any], [1, 2]))).message).toMatch(/expected a number at index 1, found 'b'/);
  });
});

describe('semantic_search', () => {
  const corpus = [
    [1, 0],
    [0, 5],
    [1, 1],
    [-1, 0],
  ];

  it('gives the nearest rows, best first', () => {
    const [hits] = semantic_search([1, 0.1], corpus, { top_k: 3 });
    expect(hits?.map((hit) => hit.corpus_id)).toEqual([0, 2, 1]);
    expect(hits?.[0]?.score).toBeCloseTo(cos_sim([1, 0.1], [1, 0]), 15);
  });

  it('answers each query, from lists or Tensors, and ten hits by default', () => {
    const rows = Array.from({ length: 30 }, (_, i) => [Math.cos(i), Math.sin(i)]);
    const tensor = new Tensor('float32', rows.flat(), [30, 2]);
    const answers = semantic_search(tensor.slice([0, 3]), tensor);
    expect(answers.map((hits) => [hits.length, hits[0]?.corpus_id])).toEqual([
      [10, 0],
      [10, 1],
      [10, 2],
    ]);
    for (const hits of answers) expect(hits.map((hit) => hit.score)).toEqual(hits.map((hit) => hit.score).sort((a, b) => b - a));
  });

  it('keeps the order of equal rows, and takes fewer rows than top_k', () => {
    const [hits] = semantic_search([[1, 0]], [[2, 0], [1, 0], [3, 0]]); // prettier-ignore
    expect(hits?.map((hit) => hit.corpus_id)).toEqual([0, 1, 2]);
    expect(semantic_search([[1, 0]], [])).toEqual([[]]);
  });

  it('puts rows with NaN last, whatever their number', () => {
    const rows = [[NaN, 1], [0, 1], [1, NaN], [1, 0], [NaN, NaN]]; // prettier-ignore
    for (let top_k = 1; top_k <= 5; ++top_k) {
      const [hits] = semantic_search([1, 0], rows, { top_k });
      expect(hits?.map((hit) => hit.corpus_id)).toEqual([3, 1, 0, 2, 4].slice(0, top_k));
    }
  });

  it('gives no cosine beyond 1', () => {
    for (let i = 1; i < 200; ++i) {
      const vector = Array.from({ length: 64 }, (_, j) => Math.sin(i * j + i));
      expect(cos_sim(vector, vector)).toBeLessThanOrEqual(1);
      expect(semantic_search(vector, [vector])[0]?.[0]?.score).toBeLessThanOrEqual(1);
    }
  });

  it('takes another score function', () => {
    const [byDot] = semantic_search([1, 1], corpus, { top_k: 1, score_function: dot_score });
    expect(byDot).toEqual([{ corpus_id: 1, score: 5 }]);
    const [byOwn] = semantic_search([1, 1], corpus, { top_k: 1, score_function: (_, entry) => -(entry[0] as number) });
    expect(byOwn).toEqual([{ corpus_id: 3, score: 1 }]);
  });

  it('refuses vectors of other lengths and unknown options', async () => {
    expect((await failure(() => semantic_search([[1, 2, 3]], corpus))).message).toMatch(/one length, found 3 and 2/);
    expect((await failure(() => semantic_search([[1, 2]], corpus, { topk: 3 } as any))).message).toMatch(
      /unknown option 'topk'; did you mean 'top_k'\? known options: top_k/,
    );
    expect((await failure(() => semantic_search([[1, 2]], corpus, { top_k: 0 }))).message).toMatch(
      /'top_k': expected a whole number from 1 on, found 0/,
    );
  });
});
