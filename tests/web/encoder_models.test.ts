// wattn-base, the model in a package of its own: the file that its card speaks of, how it is found, and what it is worth.
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { evaluate, pipeline } from 'wattn';
import { expectError, root, typeOfTokenTypes } from './support.js';

const folder = join(root, 'models/base');
const file = join(folder, 'wattn-base.gguf');
const report = JSON.parse(readFileSync(join(folder, 'wattn-base.json'), 'utf8'));
const scores = JSON.parse(readFileSync(join(root, 'models/scores.json'), 'utf8'));
const pairs = join(root, '../shared/data/pairs/stsb/sts-test.csv');
const withData = existsSync(pairs) ? it : it.skip;
const why = existsSync(pairs) ? '' : ` (skipped: no ${pairs})`;

describe('wattn-base', () => {
  it('is the file that its card speaks of, within 10 MB', () => {
    const bytes = readFileSync(file);
    expect(createHash('sha256').update(bytes).digest('hex')).toBe(report.sha256);
    expect(readFileSync(join(folder, 'README.md'), 'utf8')).toContain(report.sha256);
    expect(bytes.length).toBeLessThanOrEqual(10_000_000);
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

  it('is found by its name where it is installed, and by its URL, in q8', () => {
    const place = mkdtempSync(join(tmpdir(), 'wattn-base-'));
    try {
      mkdirSync(join(place, 'node_modules'));
      symlinkSync(folder, join(place, 'node_modules/wattn-base'), 'junction');
      const program = `
        import { pipeline } from ${JSON.stringify(pathToFileURL(join(root, 'dist/node.js')).href)};
        import model from 'wattn-base';
        const rows = [];
        for (const each of ['wattn-base', model]) {
          const embed = await pipeline('feature-extraction', each);
          rows.push(embed.info().dtype, ...(await embed('The bakery opens at six.')).data.slice(0, 4));
        }
        console.log(JSON.stringify(rows));`;
      const said = execFileSync(process.execPath, ['--input-type=module', '-e', program], { cwd: place, encoding: 'utf8' });
      const rows = JSON.parse(said);
      expect(rows.slice(0, 5)).toEqual(rows.slice(5));
      expect(rows[0]).toBe('q8');
      rows.slice(1, 5).forEach((x: number, k: number) => expect(Math.abs(x - report.vectors.first_8[0][k])).toBeLessThan(0.02));
    } finally {
      rmSync(place, { recursive: true });
    }
  });

  it('says what to install where it is not', () =>
    expectError(
      () => pipeline('feature-extraction', 'wattn-huge'),
      'InputError',
      /npm install wattn-huge.*the URL that the package exports/,
    ));

  withData(`has the score that its card says on STS-B${why}`, async () => {
    const rows = readFileSync(pairs, 'utf8').trimEnd().split('\n').map((line) => line.split('\t')); // prettier-ignore
    const data = rows.map(([, , , , score, sentence1, sentence2]) => ({
      sentence1: sentence1 as string,
      sentence2: sentence2 as string,
      score: Number(score),
    }));
    const embed = await pipeline('feature-extraction', file);
    const { spearman_cosine } = await evaluate(embed, 'sts', data);
    expect(spearman_cosine).toBeCloseTo(scores['wattn-base']['STS-B test, Spearman'], 3);
    expect(spearman_cosine).toBeGreaterThanOrEqual(0.81);
    await embed.dispose();
  });
});
