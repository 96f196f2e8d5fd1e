// Evaluates wattn-pii, the rules and others: WNUT-17's test set (exact spans of persons and places), and the everyday texts of tests/fixtures/pii.
//   node tools/encoders/pii/judge.mjs --model FILE.gguf --texts TEXTS [--spacy FOUND.json] [--everyday] --out SCORES.json
// Without --everyday the everyday texts are not looked at: they judge once.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { pipeline, redact } from '../../../dist/node.js';
import { root } from '../../lib/shell.mjs';
import { exact, identification, kIdentifying, readMarked } from './scoring.mjs';

const { values } = parseArgs({
  options: {
    model: { type: 'string' },
    texts: { type: 'string' },
    spacy: { type: 'string' },
    everyday: { type: 'boolean' },
    out: { type: 'string' },
  },
});

/** Offsets of code points, as Python counts, to UTF-16. */
function toUtf16(text, spans) {
  const places = [];
  let at = 0;
  for (const character of text) {
    places.push(at);
    at += character.length;
  }
  places.push(at);
  return spans.map(([start, end, label]) => ({ label, start: places[start], end: places[end] }));
}

const lines = (file) => readFileSync(file, 'utf8').trimEnd().split('\n').map((line) => JSON.parse(line)); // prettier-ignore
const wnut = lines(join(values.texts, 'wnut_test.jsonl')).map(({ text, spans }) => ({ text, spans: toUtf16(text, spans) }));
const everyday = values.everyday ? readMarked(readFileSync(join(root, 'tests/fixtures/pii/everyday.tsv'), 'utf8')) : [];
const textsOf = (rows) => rows.map(({ text }) => text);

const ofCorpus = (found) => ({
  'persons and places': exact(wnut, found, ['PER', 'LOC']),
  persons: exact(wnut, found, ['PER']),
  places: exact(wnut, found, ['LOC']),
});

const scores = {};
const pipe = await pipeline('token-classification', values.model);
const entities = async (texts) =>
  (await pipe(texts, { aggregation_strategy: 'simple' })).map((list) =>
    list.map(({ entity_group, start, end }) => ({ label: entity_group, start, end })),
  );
scores['wattn-pii'] = { wnut17_test: ofCorpus(await entities(textsOf(wnut))) };
if (values.everyday) {
  const texts = textsOf(everyday);
  const redacted = async (...args) => (await redact(...args)).map((one) => one.entities);
  scores['wattn-pii'].everyday = identification(everyday, await entities(texts));
  scores['rules'] = { everyday: identification(everyday, await redacted(texts)) };
  scores['rules and wattn-pii'] = {
    everyday: identification(everyday, await redacted(pipe, texts, { labels: kIdentifying })),
    everyday_all_labels: identification(everyday, await redacted(pipe, texts), true),
  };
}
if (values.spacy) {
  const found = JSON.parse(readFileSync(values.spacy, 'utf8'));
  scores['en_core_web_sm'] = { wnut17_test: ofCorpus(found.wnut.map((spans, i) => toUtf16(wnut[i].text, spans))) };
  if (values.everyday) {
    const own = found.everyday.map((spans, i) => toUtf16(everyday[i].text, spans));
    scores['en_core_web_sm'].everyday = identification(everyday, own);
  }
}
await pipe.dispose();
writeFileSync(values.out, `${JSON.stringify(scores, null, 1)}\n`);
for (const [name, { wnut17_test, everyday: judged }] of Object.entries(scores)) {
  console.log(
    name,
    JSON.stringify(wnut17_test ?? ''),
    JSON.stringify({ ...judged, missed: judged?.missed.length, wrong: judged?.wrong.length }),
  );
}
