// One short text at a time: encode, decode and call of wattn's tokenizers against npm's @huggingface/tokenizers in the same process. The texts are
// the English questions of XQuAD (1,190 of SQuAD's, all distinct). Then `embed` of a text of 8 tokens compared with the part of the same calls
// that is inside WebAssembly. One character of each decoded text is read, because engines join strings lazily. Microseconds of processor time
// (which counts the collector's threads too), medians of interleaved rounds, and a CSV under bench/record. Needs ../shared/data; the npm rival is
// installed into build/rivals. ROUNDS=.. sets the rounds, DIST=.. another build's dist.
import { existsSync, readFileSync } from 'node:fs';
import { loadavg } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { writeRecord } from './lib/record.mjs';
import { importRival, installRivals } from '../../tools/lib/rivals.mjs';

const root = fileURLToPath(new URL('../../', import.meta.url));
const data = join(root, '../shared/data');
const kRival = '@huggingface/tokenizers@0.2.0';
const kModels = { WordPiece: 'bert-base-uncased', 'byte-level BPE': 'roberta-base', Unigram: 't5-small' };
const kQuestions = 'qa/xquad/xquad.en.json';
const rounds = Number(process.env.ROUNDS ?? 21);

if (!existsSync(join(data, kQuestions))) {
  console.log(`skipped: no ${join(data, kQuestions)}`);
  process.exit(0);
}
installRivals(kRival);
// Before wattn is imported: times its calls of call, the export that tokenizes one text, runs the model and pools.
let inside = 0;
const { instantiate } = WebAssembly;
WebAssembly.instantiate = async (...given) => {
  const instance = await instantiate(...given);
  const { call } = instance.exports ?? {};
  if (!call) return instance;
  const timed = (...args) => {
    const start = performance.now();
    const answer = call(...args);
    inside += performance.now() - start;
    return answer;
  };
  return { exports: { ...instance.exports, call: timed } };
};
const { Tokenizer } = await importRival('@huggingface/tokenizers');
const { AutoTokenizer, pipeline } = await import(pathToFileURL(join(process.env.DIST ?? join(root, 'dist'), 'node.js')).href);

const median = (values) => values.toSorted((a, b) => a - b)[values.length >> 1];
const read = (file) => (existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : {});
const questions = [
  ...new Set(
    read(join(data, kQuestions)).data.flatMap(({ paragraphs }) => paragraphs.flatMap(({ qas }) => qas.map((qa) => qa.question))),
  ),
];

/** Microseconds of processor time of each run, one after the other in every round; per: how many calls a run has. */
async function measure(runs, per) {
  const times = Object.fromEntries(Object.keys(runs).map((name) => [name, []]));
  for (let round = -3; round < rounds; ++round) {
    for (const [name, run] of Object.entries(runs)) {
      const start = process.cpuUsage();
      await run();
      const { user, system } = process.cpuUsage(start);
      if (round >= 0) times[name].push((user + system) / per);
    }
  }
  return Object.fromEntries(Object.entries(times).map(([name, all]) => [name, median(all)]));
}

const middle = (text) => text.charCodeAt(text.length >> 1);
const rows = [];
const host = () => `node ${process.version}`;
const busy = () => loadavg()[0].toFixed(1);
let kept; // so that nothing is left out as unused
for (const [model, name] of Object.entries(kModels)) {
  const folder = join(data, 'tokenizers', name);
  const ours = await AutoTokenizer.from_pretrained(folder);
  const rival = new Tokenizer(read(join(folder, 'tokenizer.json')), read(join(folder, 'tokenizer_config.json')));
  const ids = questions.map((question) => ours.encode(question));
  const each = (list, run) => () => {
    for (const item of list) kept = run(item);
  };
  const us = await measure(
    {
      encode: each(questions, (text) => ours.encode(text)),
      'npm encode': each(questions, (text) => rival.encode(text)),
      decode: each(ids, (row) => middle(ours.decode(row))),
      'npm decode': each(ids, (row) => middle(rival.decode(row))),
      call: each(questions, (text) => ours(text)),
      'npm call': each(questions, (text) => rival.encode(text, { return_token_type_ids: true })),
      batch: () => (kept = ours(questions, { return_tensor: false, return_token_type_ids: false })),
    },
    questions.length,
  );
  for (const what of ['encode', 'decode', 'call']) {
    const npm = us[`npm ${what}`];
    rows.push({
      case: `${model} ${what}`,
      wattn: us[what].toFixed(2),
      against: npm.toFixed(2),
      ratio: (npm / us[what]).toFixed(2),
      'share of a batch': what === 'encode' ? us.batch.toFixed(2) : '',
      load: busy(),
      rival: kRival,
      host: host(),
    });
  }
  ours.dispose();
}

// The model of the package, and all-MiniLM-L6-v2 where it is there. The whole and what is inside WebAssembly, of the same calls by the
// clock; medians of the rounds.
const minilm = join(root, '.models/all-MiniLM-L6-v2');
for (const [name, model, dtype] of [
  ['bundled', undefined, undefined],
  ['MiniLM', minilm, 'q8'],
  ['MiniLM', minilm, 'f32'],
]) {
  if (model && !existsSync(model)) continue;
  const options = { threads: 1, ...(dtype && { dtype }) };
  const embed = await pipeline('feature-extraction', model, options);
  const text = 'the bakery opens at six';
  const tokens = embed.tokenizer(text).input_ids.size;
  await embed.warmup();
  const repeat = 100;
  const [all, alone, ratios] = [[], [], []];
  for (let round = -3; round < rounds; ++round) {
    inside = 0;
    const start = performance.now();
    for (let i = 0; i < repeat; ++i) kept = await embed(text);
    const took = performance.now() - start;
    if (inside === 0) throw new Error('this build has no export call');
    if (round < 0) continue;
    all.push((1000 * took) / repeat);
    alone.push((1000 * inside) / repeat);
    ratios.push(took / inside);
  }
  rows.push({
    case: `${name} ${dtype ?? ''} embed of ${tokens} tokens, against what is inside WebAssembly`,
    wattn: median(all).toFixed(1),
    against: median(alone).toFixed(1),
    ratio: median(ratios).toFixed(3),
    'share of a batch': '',
    load: busy(),
    rival: '',
    host: host(),
  });
  await embed.dispose();
}
console.table(rows.map(({ rival: _rival, host: _host, ...row }) => row));
if (!process.env.DIST) writeRecord('short-texts', rows);
process.exit(kept ? 0 : 1);
