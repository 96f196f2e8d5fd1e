// Results that must be bit-identical on every engine: recorded once, compared here, in browsers (tests/browser) and on Arm (npm run check).
import { readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import * as wattn from 'wattn';
import { Trainer } from 'wattn/train';
import { hashOfVectors, kPublished, thousandSentences } from '../../demo/src/proof/thousand.mjs';
import { goldens, root } from './support.js';

it('has the recorded bits of every format, task, tokenizer and kind of training', async () => {
  const { answersOf } = await import('../engines/answers.mjs');
  const expected = JSON.parse(readFileSync(join(root, 'tests/engines/answers.json'), 'utf8'));
  expect(await answersOf({ ...wattn, Trainer }, (path: string) => readFile(join(goldens, path)))).toEqual(expected);
});

describe('the 1,000 sentences of the page Proof', () => {
  it('are all different, and some leave ASCII', () => {
    const sentences = thousandSentences();
    expect(new Set(sentences).size).toBe(1000);
    expect(sentences.filter((sentence) => /[^\x00-\x7f]/.test(sentence)).length).toBeGreaterThan(100);
  });

  it.each(Object.entries(kPublished))('have the published bits in %s', async (dtype, published) => {
    const embed = await wattn.pipeline('feature-extraction', null, { dtype: dtype as 'f32' });
    const { data } = await embed(thousandSentences());
    await embed.dispose();
    expect(await hashOfVectors(data)).toBe(published);
  });
});
