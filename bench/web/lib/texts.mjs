// Texts for tokenizer benchmarks, from ../shared/data and this repository.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { root } from '../../../tools/lib/shell.mjs';

export const data = join(root, '../shared/data');

/** Ends the process with a note where there are no texts. */
export function needTexts() {
  if (existsSync(join(data, 'text/darwin.txt'))) return;
  console.log(`skipped: no ${join(data, 'text/darwin.txt')}`);
  process.exit(0);
}

const read = (file) => readFileSync(join(data, file), 'utf8');
const questions = (language) =>
  JSON.parse(read(`qa/xquad/xquad.${language}.json`))
    .data.flatMap(({ paragraphs }) => paragraphs)
    .map(({ context, qas }) => `${context}\n${qas.map(({ question }) => question).join('\n')}`)
    .join('\n\n');
const sources = (folder, end) =>
  readdirSync(join(root, folder), { recursive: true })
    .filter((file) => file.endsWith(end) && !file.includes('tables'))
    .sort()
    .map((file) => readFileSync(join(root, folder, file), 'utf8'))
    .join('\n');

/** The texts, and the letters of a piece. */
const kTexts = {
  english: [() => read('text/darwin.txt') + read('text/bronte.txt'), 250_000],
  german: [() => questions('de'), 80_000],
  chinese: [() => questions('zh'), 30_000],
  code: [() => sources('src', '.cpp') + sources('web', '.ts'), 150_000],
};

/** The first pieces of a text: all different, of one length. */
export function piecesOf(kind, most) {
  const [text, length] = kTexts[kind];
  const whole = text();
  return Array.from({ length: Math.min(most, Math.floor(whole.length / length)) }, (_, i) =>
    whole.slice(i * length, (i + 1) * length),
  );
}
