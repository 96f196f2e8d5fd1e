// What has the same bits on every engine: recorded once, compared here, in the browsers (tests/browser) and on Arm (npm run check).
import { readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import * as wattn from 'wattn';
import { Trainer } from 'wattn/train';
import { goldens, root } from './support.js';

it('has the recorded bits of every format, task, tokenizer and kind of training', async () => {
  const { answersOf } = await import('../engines/answers.mjs');
  const expected = JSON.parse(readFileSync(join(root, 'tests/engines/answers.json'), 'utf8'));
  expect(await answersOf({ ...wattn, Trainer }, (path: string) => readFile(join(goldens, path)))).toEqual(expected);
});
