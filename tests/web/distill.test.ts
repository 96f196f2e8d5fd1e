// distill() against model2vec's on the same encoders, and its eigenvectors.
import { join } from 'node:path';
import { AutoTokenizer, distill, nn, pipeline, type DistillOptions, type DistillProgress } from 'wattn';
import { eigenSymmetric, principalComponents } from '../../web/vectors/pca.js';
import { linesOf, wattn } from './cli_support.js';
import { expectError, expectNear, failure, goldens, largestDifference, readJson, tiny } from './support.js';

interface Case {
  encoder: string;
  options: DistillOptions;
  config: Record<string, unknown>;
  tokens: string[];
  shape: [number, number];
  f32_diff: number;
  rows: number[];
  texts?: string[];
  ids?: number[][];
}
const cases = readJson('static/distilled/expected.json') as Case[];
const folderOf = (encoder: string) => (encoder === 'wordpiece' ? tiny : join(goldens, 'static/encoders', encoder));
const load = (encoder: string, options = {}) => pipeline('feature-extraction', folderOf(encoder), options);
const parsed = (bytes: Uint8Array | undefined) => JSON.parse(new TextDecoder().decode(bytes)) as Record<string, any>;
/** The tokens of a tokenizer.json by id. */
const tokensOf = ({ model: { vocab } }: Record<string, any>): string[] =>
  Array.isArray(vocab) ? vocab.map(([token]) => token) : Object.keys(vocab).sort((a, b) => vocab[a] - vocab[b]);

describe('distill', () => {
  it.each(cases.map((one) => [`${one.encoder} ${JSON.stringify(one.options)}`, one] as const))(
    'equals Python: %s',
    async (_, one) => {
      const encoder = await load(one.encoder);
      const made = await distill(encoder, { ...one.options, quantize_to: 'float32' });
      await encoder.dispose();
      const files = made.save();
      const rows = nn.load_safetensors(files['model.safetensors'] as Uint8Array)['embeddings']!;
      expect(rows.dims).toEqual(one.shape);
      expect(tokensOf(parsed(files['tokenizer.json']))).toEqual(one.tokens);
      expectNear(rows.data as Float32Array, one.rows, one.f32_diff);
      expect(parsed(files['config.json'])).toEqual({ ...one.config, embedding_dtype: 'float32' });
      const [vector] = (await made('the boat', { normalize: false })).tolist() as number[][];
      expect(vector?.length).toBe(one.shape[1]);
      await made.dispose();
    },
  );

  it.each(cases.filter(({ ids }) => ids))(
    'reads texts as Python: $encoder',
    async ({ encoder: name, texts = [], ids = [], tokens }) => {
      const encoder = await load(name);
      const made = await distill(encoder, { pca_dims: null });
      const ours = parsed(made.save()['tokenizer.json']);
      const theirs = readJson('static/distilled', `${name}-tokenizer.json`);
      // skeletoken leaves a Unigram's unk_id as it was, though ids have moved: it names another token.
      const unk =
        theirs.model.type === 'Unigram' ? { unk_id: theirs.model.vocab.findIndex(([token]: [string]) => token === '<unk>') } : {};
      expect(ours).toEqual({ ...theirs, padding: null, model: { ...theirs.model, ...unk } });
      const tokenizer = await AutoTokenizer.from_pretrained({ 'tokenizer.json': made.save()['tokenizer.json'] as Uint8Array });
      const unknown = tokens.indexOf(name === 'wordpiece' ? '[UNK]' : '<unk>');
      texts.forEach((text, i) => {
        if (name === 'unigram') return; // see above
        const found = (tokenizer(text, { add_special_tokens: false, return_tensor: false }).input_ids as number[]).slice(0, 512);
        const median = [...tokens].map((token) => [...token].length).sort((a, b) => a - b)[tokens.length >> 1] as number;
        if ([...text].length <= 512 * median) expect(found.filter((id) => id !== unknown)).toEqual(ids[i]);
      });
      await Promise.all([encoder.dispose(), made.dispose()]);
    },
  );

  it('stores rows in float16 by default, and in int8', async () => {
    const encoder = await load('unigram');
    const rowsOf = async (options: DistillOptions) => {
      const made = await distill(encoder, { pca_dims: 12, ...options });
      const { embeddings } = nn.load_safetensors(made.save()['model.safetensors'] as Uint8Array);
      const vectors = (await made(['the boat', 'birds'])).data as Float32Array;
      await made.dispose();
      return { rows: [...(embeddings!.data as Float32Array)], vectors };
    };
    const exact = await rowsOf({ quantize_to: 'float32' });
    const most = exact.rows.reduce((a, b) => Math.max(a, Math.abs(b)), 0);
    const halves = await rowsOf({});
    halves.rows.forEach((value, i) => {
      const row = exact.rows[i] as number;
      expect(Math.abs(value - row)).toBeLessThanOrEqual(Math.max(Math.abs(row) * 2 ** -11, 2 ** -25));
    });
    const bytes = await rowsOf({ quantize_to: 'int8' });
    // Half a step, and what half precision loses: twice 2^-11 of at most 127 steps.
    bytes.rows.forEach((value, i) =>
      expect(Math.abs(value - ((exact.rows[i] as number) / most) * 127)).toBeLessThan(0.5 + 127 * 2 ** -10),
    );
    expect(largestDifference(halves.vectors, exact.vectors)).toBeLessThan(2 ** -9);
    expect(largestDifference(bytes.vectors, exact.vectors)).toBeLessThan(0.1);
    await encoder.dispose();
  });

  it('gives the same bits from an encoder in a worker, reports progress, and outlives the encoder', async () => {
    const [here, there] = await Promise.all([load('wordpiece'), load('wordpiece', { worker: true })]);
    const seen: DistillProgress[] = [];
    const a = await distill(here, { pca_dims: 8, progress_callback: (progress) => seen.push(progress) });
    const b = await distill(there, { pca_dims: 8 });
    await Promise.all([here.dispose(), there.dispose()]);
    expect(a.save()).toEqual(b.save());
    const again = await pipeline('feature-extraction', new Map(Object.entries(a.save())));
    expect([...((await again('the old boat')).data as Float32Array)]).toEqual([
      ...((await b('the old boat')).data as Float32Array),
    ]);
    const of = (phase: string) => seen.filter((one) => one.phase === phase).map(({ done, total }) => done / total);
    for (const phase of ['encode', 'reduce']) {
      const shares = of(phase);
      expect(shares.at(-1)).toBe(1);
      expect(shares).toEqual([...shares].sort((x, y) => x - y));
    }
    await Promise.all([a.dispose(), b.dispose(), again.dispose()]);
  });

  it('can be stopped in each phase, and leaves the encoder as it was', async () => {
    const encoder = await load('wordpiece');
    for (const phase of ['encode', 'reduce']) {
      const controller = new AbortController();
      const progress_callback = (progress: DistillProgress) => progress.phase === phase && controller.abort();
      await expectError(distill(encoder, { signal: controller.signal, progress_callback }), 'AbortError');
    }
    await expectError(distill(encoder, { signal: AbortSignal.abort() }), 'AbortError');
    const fault = new Error('mine');
    expect(
      await failure(
        distill(encoder, {
          progress_callback: () => {
            throw fault;
          },
        }),
      ),
    ).toBe(fault);
    expect((await encoder('the boat')).dims).toEqual([1, 32]);
    await encoder.dispose();
  });

  it('removes tokens by a pattern at their beginning', async () => {
    const encoder = await load('wordpiece');
    const tokensWith = async (token_remove_pattern: DistillOptions['token_remove_pattern']) => {
      const made = await distill(encoder, { token_remove_pattern, pca_dims: null });
      const tokens = tokensOf(parsed(made.save()['tokenizer.json']));
      await made.dispose();
      return tokens;
    };
    const all = await tokensWith(null);
    expect(await tokensWith('##')).toEqual(all.filter((token) => !token.startsWith('##')));
    expect(await tokensWith(/[A-Z]/gi)).toEqual(all.filter((token) => !/^[a-z]/i.test(token)));
    expect((await tokensWith('.*')).length).toBe(1); // the unknown token stays
    await encoder.dispose();
  });

  it('refuses what it cannot do', async () => {
    const encoder = await load('unigram');
    const wrong: [DistillOptions, RegExp][] = [
      [{ pca_dims: 0 }, /option 'pca_dims': expected a whole number of at least 1/],
      [{ pca_dims: 1.5 }, /'pca_dims'/],
      [{ pca_dims: NaN }, /'pca_dims'/],
      [{ pca_dims: '12' as never }, /'pca_dims'/],
      [{ sif_coefficient: 1 }, /option 'sif_coefficient': expected a number above 0 and below 1/],
      [{ token_remove_pattern: '(' }, /option 'token_remove_pattern': expected a regular expression/],
      [{ pooling: 'max' as never }, /option 'pooling'/],
      [{ dims: 3 } as never, /unknown option 'dims'|option 'dims'/],
    ];
    for (const [options, message] of wrong) await expectError(distill(encoder, options), 'InputError', message);
    const made = await distill(encoder, { pca_dims: null });
    await expectError(distill(made), 'InputError', /expected an encoder, found static embeddings/);
    await expectError(distill({} as never), 'InputError', /expected a pipeline of 'feature-extraction'/);
    await encoder.dispose();
    await expectError(distill(encoder), 'StateError');
    await made.dispose();
  });

  it('is a command', async () => {
    const { mkdtempSync, rmSync } = await import('node:fs');
    const { tmpdir } = await import('node:os');
    const out = mkdtempSync(join(tmpdir(), 'wattn-distill-'));
    const said = await wattn([
      'distill',
      '--model',
      folderOf('unigram'),
      '--out',
      out,
      '--pca-dims',
      '6',
      '--sif-coefficient',
      'none',
    ]);
    expect(linesOf(said)).toEqual([{ out, files: ['config.json', 'modules.json', 'tokenizer.json', 'model.safetensors'] }]);
    const embed = await pipeline('feature-extraction', out);
    expect((await embed('the boat')).dims).toEqual([1, 6]);
    await embed.dispose();
    rmSync(out, { recursive: true });
  });
});

describe('eigenSymmetric', () => {
  let state = 7;
  const random = () => ((state = (Math.imul(state, 1103515245) + 12345) & 0x7fffffff) >>> 8) / 2 ** 22 - 1;

  const check = async (name: string, matrix: Float64Array, n: number) => {
    const { values, vectors } = await eigenSymmetric(matrix.slice(), n);
    const norm = Math.sqrt(matrix.reduce((sum, value) => sum + value * value, 0));
    const bound = 16 * Math.max(1, n) * Number.EPSILON; // backward stable: rounding errors of n reflections and about 2 n rotations
    for (let i = 0; i < n; ++i) {
      if (i > 0) expect(values[i] as number).toBeLessThanOrEqual(values[i - 1] as number);
      const v = vectors.subarray(i * n, (i + 1) * n);
      for (let j = 0; j < n; ++j) {
        const image = v.reduce((sum, value, k) => sum + value * (matrix[j * n + k] as number), 0);
        if (!(Math.abs(image - (values[i] as number) * (v[j] as number)) <= bound * norm)) throw new Error(`${name}: row ${i}`);
        const other = vectors.subarray(j * n, (j + 1) * n);
        const product = v.reduce((sum, value, k) => sum + value * (other[k] as number), 0);
        if (!(Math.abs(product - (i === j ? 1 : 0)) <= bound)) throw new Error(`${name}: rows ${i} and ${j} are not orthonormal`);
      }
    }
    return values;
  };
  const symmetric = (n: number, of: (i: number, j: number) => number) => {
    const out = new Float64Array(n * n);
    for (let i = 0; i < n; ++i) for (let j = 0; j <= i; ++j) out[i * n + j] = out[j * n + i] = of(i, j);
    return out;
  };

  it('ends where rounding leaves next to nothing: two vectors in many dimensions', async () => {
    const n = 384;
    let state = 150_461; // one of few that did not
    const next = () => (state = (state * 1103515245 + 12345) % 2147483648) / 2147483648;
    const rows = Array.from({ length: 2 }, () => {
      const row = Float32Array.from({ length: n }, () => next() - 0.5);
      const length = Math.sqrt(row.reduce((sum, value) => sum + value * value, 0));
      return row.map((value) => value / length);
    });
    const product = (i: number, j: number) => rows.reduce((sum, row) => sum + row[i]! * row[j]!, 0);
    await check('two vectors', symmetric(n, product), n);
  });

  it('solves matrices of every size', async () => {
    for (const n of [1, 2, 3, 4, 5, 7, 16, 33, 80]) await check(`random ${n}`, symmetric(n, random), n);
  });

  it('solves special matrices', async () => {
    const n = 12;
    expect([...(await check('zero', new Float64Array(n * n), n))]).toEqual(Array(n).fill(0));
    await check(
      'diagonal',
      symmetric(n, (i, j) => (i === j ? i - 5 : 0)),
      n,
    );
    await check(
      'one',
      symmetric(n, (i, j) => (i === j ? 1 : 0)),
      n,
    );
    const ones = await check(
      'rank 1',
      symmetric(n, () => 1),
      n,
    );
    expect(Math.abs((ones[0] as number) - n)).toBeLessThan(1e-13);
    await check(
      'tridiagonal',
      symmetric(n, (i, j) => (i === j ? 2 : i === j + 1 ? -1 : 0)),
      n,
    );
    await check(
      'graded',
      symmetric(n, (i, j) => random() * 10 ** -(i + j)),
      n,
    );
    const blocks = symmetric(n, (i, j) => (Math.floor(i / 3) === Math.floor(j / 3) ? random() : 0));
    await check('blocks', blocks, n);
    await check(
      'large',
      symmetric(n, () => random() * 1e100),
      n,
    );
  });

  it('ends on NaN', async () => {
    await expectError(eigenSymmetric(new Float64Array(16).fill(NaN), 4), 'StateError', /convergence/);
  });

  it('finds the components of data that has few', async () => {
    const [rows, width] = [50, 6];
    const data = new Float32Array(rows * width);
    for (let i = 0; i < rows; ++i) {
      const [a, b] = [random() * 8, random()];
      for (let j = 0; j < width; ++j) data[i * width + j] = a * (j + 1) + b * (j % 2 ? 1 : -1) + 100;
    }
    const { dims, scores } = await principalComponents(data, width, 0.999999);
    expect(dims).toBe(2);
    // The distances between rows are those of the data.
    const distance = (values: ArrayLike<number>, size: number, i: number, j: number) =>
      Math.hypot(...Array.from({ length: size }, (_, k) => (values[i * size + k] as number) - (values[j * size + k] as number)));
    for (let i = 1; i < rows; ++i) {
      expect(Math.abs(distance(scores, dims, 0, i) - distance(data, width, 0, i))).toBeLessThan(1e-4);
    }
  });
});
