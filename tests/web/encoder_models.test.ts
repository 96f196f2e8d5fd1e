// The packages wattn-base and wattn-large: the file matches the card, it is found by name, and its scores.
import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { evaluate, pipeline } from 'wattn';
import { withPackage } from './package_support.js';
import { expectError, root, typeOfTokenTypes } from './support.js';

const scores = JSON.parse(readFileSync(join(root, 'models/scores.json'), 'utf8'));
const pairs = join(root, '../shared/data/pairs/stsb/sts-test.csv');
// 2,758 sentences by large encoders take minutes: at scale (npm run check:scale) alone.
const why = process.env['WATTN_SCALE'] === undefined ? 'WATTN_SCALE is not set' : existsSync(pairs) ? '' : `no ${pairs}`;
const atScale = why ? it.skip : it;

const kPrompt = 'Represent this sentence for searching relevant passages: ';

describe.each([
  { name: 'wattn-base', most: 10_000_000, positions: 256, prompts: {}, least: 0.81 },
  { name: 'wattn-large', most: 16_000_000, positions: 512, prompts: { query: kPrompt }, least: 0.838 },
])('$name', ({ name, most, positions, prompts, least }) => {
  const folder = join(root, 'models', name.slice('wattn-'.length));
  const file = join(folder, `${name}.gguf`);
  const report = JSON.parse(readFileSync(join(folder, `${name}.json`), 'utf8'));

  it('is the file that its card speaks of, within its size', () => {
    const bytes = readFileSync(file);
    expect(createHash('sha256').update(bytes).digest('hex')).toBe(report.sha256);
    expect(readFileSync(join(folder, 'README.md'), 'utf8')).toContain(report.sha256);
    expect(bytes.length).toBeLessThanOrEqual(most);
  });

  it('has token types in float32, as llama.cpp needs them', () => {
    expect(typeOfTokenTypes(readFileSync(file))).toEqual({ dimensions: 2, type: 0 });
  });

  it("gives PyTorch's vectors", async () => {
    const embed = await pipeline('feature-extraction', file, { dtype: 'f32' });
    const rows = (await embed(report.vectors.texts)).tolist() as number[][];
    // Components to six digits in the report; f32 sums of 384 terms in two orders differ by some 1e-6.
    report.vectors.first_8.forEach((expected: number[], i: number) =>
      expected.forEach((value, k) => expect(Math.abs((rows[i]?.[k] as number) - value)).toBeLessThan(5e-6)),
    );
    await embed.dispose();
  });

  it('reads as many tokens as it has positions, and has the prompts of its teacher', async () => {
    const embed = await pipeline('feature-extraction', file);
    expect(embed.info().prompts).toEqual(prompts);
    const words = (count: number) => 'bread '.repeat(count); // a token each, beside [CLS] and [SEP]
    const lengths = [600, positions - 2, positions - 3].map(words);
    const [long, full, shorter] = (await embed(lengths)).tolist() as number[][];
    expect(long).toEqual(full);
    expect(shorter).not.toEqual(full);
    const query = 'When can I buy fresh bread?';
    const [plain, prompted] = (await embed([query, `${kPrompt}${query}`])).tolist() as number[][];
    const [asked] = (await embed.encode_query([query])).tolist() as number[][];
    expect(asked).toEqual('query' in prompts ? prompted : plain);
    await embed.dispose();
  });

  it('is found by its name where it is installed, and by its URL, in q8', () => {
    const body = `
      const embed = await pipeline('feature-extraction', model);
      return { dtype: embed.info().dtype, vector: [...(await embed('The bakery opens at six.')).data].slice(0, 4) };`;
    const [byName, byUrl] = withPackage(name, 'pipeline', body);
    expect(byName).toEqual(byUrl);
    expect(byName.dtype).toBe('q8');
    byName.vector.forEach((x: number, k: number) => expect(Math.abs(x - report.vectors.first_8[0][k])).toBeLessThan(0.02));
  });

  atScale(`has the score that its card says on STS-B${why && ` (skipped: ${why})`}`, async () => {
    const rows = readFileSync(pairs, 'utf8').trimEnd().split('\n').map((line) => line.split('\t')); // prettier-ignore
    const data = rows.map(([, , , , score, sentence1, sentence2]) => ({
      sentence1: sentence1 as string,
      sentence2: sentence2 as string,
      score: Number(score),
    }));
    const embed = await pipeline('feature-extraction', file);
    const { spearman_cosine } = await evaluate(embed, 'sts', data);
    expect(spearman_cosine).toBeCloseTo(scores[name]['STS-B test, Spearman'], 3);
    expect(spearman_cosine).toBeGreaterThanOrEqual(least);
    await embed.dispose();
  });
});

describe('a package of ours that is not installed', () => {
  it('is named in the error, with what to install', () =>
    expectError(
      () => pipeline('feature-extraction', 'wattn-huge'),
      'InputError',
      /npm install wattn-huge.*the URL that the package exports/,
    ));
});
