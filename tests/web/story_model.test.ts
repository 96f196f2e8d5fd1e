// The package wattn-story: the file matches the card, it is found by name, and its results match PyTorch's.
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { pipeline, type TextGenerationPipeline } from 'wattn';
import { withPackage } from './package_support.js';
import { root } from './support.js';

interface Report {
  sha256: string;
  bytes: number;
  greedy: { prompt: string; tokens: number[]; text: string }[];
  scored: { text: string; pieces: number; nats: number }[];
  baselines: { pairs: number }; // bits per byte
  sampling: Record<string, number | boolean>;
}

const folder = join(root, 'models/story');
const file = join(folder, 'wattn-story.gguf');
const report: Report = JSON.parse(readFileSync(join(folder, 'wattn-story.json'), 'utf8'));
const card = readFileSync(join(folder, 'README.md'), 'utf8');

describe('wattn-story', () => {
  it('is the file that its card speaks of, within 2 MB', () => {
    const bytes = readFileSync(file);
    expect(createHash('sha256').update(bytes).digest('hex')).toBe(report.sha256);
    expect(card).toContain(report.sha256);
    expect(bytes.length).toBe(report.bytes);
    expect(bytes.length).toBeLessThanOrEqual(2_000_000);
  });

  it('has learned more than which piece follows which', () => {
    const nats = report.scored.reduce((sum, one) => sum + one.nats, 0);
    const bytes = report.scored.reduce((sum, { text }) => sum + Buffer.byteLength(text), 0);
    expect(nats / Math.LN2 / bytes).toBeLessThan(report.baselines.pairs);
  });

  describe('in f32', () => {
    let generate: TextGenerationPipeline;
    beforeAll(async () => void (generate = await pipeline('text-generation', file, { dtype: 'f32' })));
    afterAll(() => generate.dispose());

    it.each(report.greedy)("writes PyTorch's tokens after $prompt", async ({ prompt, tokens, text }) => {
      const options = { max_new_tokens: 40, do_sample: false, return_full_text: false };
      const [answer] = await generate(prompt, options);
      expect(answer?.tokens).toEqual(tokens);
      expect(answer?.generated_text).toBe(text);
    });

    it('finds a book that it never read as likely as PyTorch does', async () => {
      const found = await generate.score('', report.scored.map(({ text }) => text)); // prettier-ignore
      report.scored.forEach(({ nats, pieces }, i) => {
        expect(found[i]?.tokens).toHaveLength(pieces);
        expect(Math.abs(found[i]!.score + nats)).toBeLessThan(2e-3); // f32 sums of some 250 logarithms
      });
    });
  });

  it('is q8 by default, hardly less sure, and writes what its card shows', async () => {
    const generate = await pipeline('text-generation', file);
    expect(generate.info().dtype).toBe('q8');
    const found = await generate.score('', report.scored.map(({ text }) => text)); // prettier-ignore
    const nats = -found.reduce((sum, { score }) => sum + score, 0);
    const torch = report.scored.reduce((sum, one) => sum + one.nats, 0);
    expect(Math.abs(nats / torch - 1)).toBeLessThan(0.005);
    const [{ generated_text } = { generated_text: '' }] = await generate('Once upon a time', { ...report.sampling, seed: 1 });
    for (const line of generated_text.trim().split('\n')) expect(card).toContain(`> ${line}`);
    await generate.dispose();
  });

  it('is found by its name where it is installed, and by its URL', () => {
    const body = `
      const generate = await pipeline('text-generation', model);
      const [{ generated_text }] = await generate('Once upon a time', { max_new_tokens: 8 });
      return [generate.info().dtype, generated_text];`;
    const [byName, byUrl] = withPackage('wattn-story', 'pipeline', body);
    expect(byName).toEqual(byUrl);
    expect(byName[0]).toBe('q8');
    expect(byName[1]).toMatch(/^Once upon a time,? \w/);
  });
});
