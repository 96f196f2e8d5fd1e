// English sentences from ../shared/data, for search benchmarks.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { data } from './texts.mjs';

/** Distinct sentences of 4 to 24 words, in an order that depends on their text alone. wanted: how many. */
export function sentences(wanted) {
  const all = new Map();
  const add = (text) => {
    const words = text.trim().replace(/\s+/g, ' ');
    const count = words.split(' ').length;
    if (count >= 4 && count <= 24) all.set(words.toLowerCase().replace(/[^a-z0-9]+/g, ' '), words);
  };
  const lines = (path) => readFileSync(join(data, path), 'utf8').split('\n');
  for (const file of ['dev', 'test']) for (const line of lines(`pairs/snli/${file}.txt`)) line.split('\t').slice(0, 2).forEach(add);
  for (const file of ['train', 'dev', 'test'])
    for (const line of lines(`pairs/stsb/sts-${file}.csv`)) line.split('\t').slice(5, 7).forEach(add);
  for (const file of readdirSync(join(data, 'pairs/tatoeba')).sort())
    if (file.endsWith('.eng')) lines(`pairs/tatoeba/${file}`).forEach(add);
  for (const file of ['train', 'test'])
    for (const line of lines(`classification/sst2-sentences/${file}.tsv`)) add(line.split('\t')[0]);
  for (const line of lines('classification/sms-spam/SMSSpamCollection.tsv')) add(line.split('\t')[1] ?? '');
  for (const file of [
    'text/wikitext2/wiki.valid.raw',
    'text/wikitext2/wiki.test.raw',
    'text/darwin.txt',
    'text/bronte.txt',
    'text/shakespeare.txt',
  ])
    lines(file)
      .join(' ')
      .split(/(?<=[.!?;])\s+(?=[A-Z"'])/)
      .forEach(add);
  const spread = (text) => {
    let hash = 0;
    for (let i = 0; i < text.length; ++i) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193);
    return hash >>> 0;
  };
  const found = [...all.values()].map((text) => [spread(text), text]).sort(([a], [b]) => a - b);
  if (found.length < wanted) throw new Error(`expected ${wanted} sentences, found ${found.length}`);
  return found.slice(0, wanted).map(([, text]) => text);
}
