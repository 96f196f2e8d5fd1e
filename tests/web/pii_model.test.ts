// The package wattn-pii: the file matches the card, it is found by name, and its results match PyTorch's.
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { AutoTokenizer, pipeline, redact, type TokenClassificationPipeline } from 'wattn';
import { withPackage } from './package_support.js';
import { root } from './support.js';

interface Report {
  sha256: string;
  bytes: number;
  examples: { text: string; ids: number[]; logits: number[][]; spans: [start: number, end: number, label: string][] }[];
}

const folder = join(root, 'models/pii');
const file = join(folder, 'wattn-pii.gguf');
const report: Report = JSON.parse(readFileSync(join(folder, 'wattn-pii.json'), 'utf8'));
const scores = JSON.parse(readFileSync(join(folder, 'scores.json'), 'utf8'));
const everyday = readFileSync(join(root, 'tests/fixtures/pii/everyday.tsv'), 'utf8');

describe('wattn-pii', () => {
  let pipe: TokenClassificationPipeline;
  beforeAll(async () => void (pipe = await pipeline('token-classification', file)));
  afterAll(() => pipe.dispose());

  it('is the file that its card speaks of, within 8 MB', () => {
    const bytes = readFileSync(file);
    expect(createHash('sha256').update(bytes).digest('hex')).toBe(report.sha256);
    expect(readFileSync(join(folder, 'README.md'), 'utf8')).toContain(report.sha256);
    expect(bytes.length).toBe(report.bytes);
    expect(bytes.length).toBeLessThanOrEqual(8_000_000);
  });

  it("has PyTorch's ids: a mark before each word with a capital letter, which begins where the word does", async () => {
    const tokenizer = await AutoTokenizer.from_pretrained(file);
    const texts = report.examples.map(({ text }) => text);
    expect(tokenizer(texts, { return_tensor: false }).input_ids).toEqual(report.examples.map(({ ids }) => ids));
    const tokens = await pipe('Ada met bo', { ignore_labels: [] });
    expect(tokens.map(({ word, start, end }) => [word, start, end])).toEqual([['‡', 0, 1], ['ada', 0, 3], ['met', 4, 7], ['bo', 8, 10]]); // prettier-ignore
    await tokenizer.dispose();
  });

  it("gives PyTorch's scores in f32, and the same tags in q8", async () => {
    const exact = await pipeline('token-classification', file, { dtype: 'f32' });
    for (const { text, logits, spans } of report.examples) {
      const tokens = await exact(text, { ignore_labels: [] });
      expect(tokens).toHaveLength(logits.length - 2); // [CLS] and [SEP]
      tokens.forEach(({ score }, i) => {
        const row = logits[i + 1] as number[];
        const sum = row.reduce((all, x) => all + Math.exp(x), 0);
        // Logits to five digits, of sums of 384 terms in two orders.
        expect(Math.abs(score - Math.exp(Math.max(...row)) / sum)).toBeLessThan(1e-4);
      });
      const groups = await pipe(text, { aggregation_strategy: 'simple' });
      expect(groups.map(({ start, end, entity_group }) => [start, end, entity_group])).toEqual(spans);
    }
    await exact.dispose();
  });

  it('redacts beside the rules', async () => {
    const text = 'My name is Katarina Novotna, I live at 14 Baker Street, London. Mail me at k.novotna@example.org.';
    const { text: out, map } = await redact(pipe, text, { labels: ['PER', 'ADDRESS'] });
    expect(out).toMatch(/^My name is \[PER_1\], I live at \[ADDRESS_1\].*Mail me at \[EMAIL_1\]\.$/);
    expect(map['[PER_1]']).toBe('Katarina Novotna');
    const plain = 'The meeting on Monday starts at ten, and the printer on floor 3 works again.';
    expect((await redact(pipe, plain)).text).toBe(plain);
  });

  it('has the scores that its card says on the everyday texts', async () => {
    const { identification, kIdentifying, readMarked } = await import(join(root, 'tools/encoders/pii/scoring.mjs'));
    const rows = readMarked(everyday);
    expect(rows).toHaveLength(500);
    const texts: string[] = rows.map(({ text }: { text: string }) => text);
    const results = await redact(pipe, texts, { labels: kIdentifying });
    const { recall, precision } = identification(rows, results.map(({ entities }) => entities)); // prettier-ignore
    const said = scores['rules and wattn-pii'].everyday;
    expect([recall, precision]).toEqual([said.recall, said.precision]);
  });

  it('is found by its name where it is installed, and by its URL', () => {
    const body = `
      const pipe = await pipeline('token-classification', model);
      return [pipe.info().dtype, (await redact(pipe, 'Please call Maria Jensen.', { labels: ['PER'] })).text];`;
    const [byName, byUrl] = withPackage('wattn-pii', 'pipeline, redact', body);
    expect(byName).toEqual(byUrl);
    expect(byName).toEqual(['q8', 'Please call [PER_1].']);
  });
});
