// Time to open an index of 100,000 (ROWS) sentences, and for its first keyword, semantic and hybrid search. Each is measured in a new Node
// process. Medians (and minimum) of ROUNDS processes, in ms. Vectors are sums of random word vectors, so the figures include no model. The index
// is made once, in build/bench-open. WATTN: folders of built packages to compare in alternating runs, `dist` by default; each makes its own index.
//   [ROWS=100000] [ROUNDS=7] [LANGUAGE=en] [WATTN=dist,OTHER] node bench/web/index_open.mjs
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { basename, join, resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { writeRecord } from './lib/record.mjs';
import { median } from './lib/rival.mjs';
import { sentences } from './lib/sentences.mjs';
import { needTexts } from './lib/texts.mjs';

const kRows = Number(process.env.ROWS ?? 100_000);
const rounds = Number(process.env.ROUNDS ?? 7);
const root = fileURLToPath(new URL('../../', import.meta.url));
const kQuery = 'a man plays the guitar';
const language = process.env.LANGUAGE;
const kDim = 384;
const libraryIn = (dist) => import(pathToFileURL(join(dist, 'node.js')).href);

const words = new Map();
/** A word's random vector: xorshift from a hash of its letters. */
function vectorOf(word) {
  let state = 0x811c9dc5;
  for (let i = 0; i < word.length; ++i) state = Math.imul(state ^ word.charCodeAt(i), 0x01000193) | 1;
  return Float32Array.from({ length: kDim }, () => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return state / 2 ** 31;
  });
}
const embed = async (texts) =>
  texts.map((text) => {
    const out = new Float32Array(kDim);
    for (const word of text.toLowerCase().match(/\w+/g) ?? ['']) {
      if (!words.has(word)) words.set(word, vectorOf(word));
      const own = words.get(word);
      for (let i = 0; i < kDim; ++i) out[i] += own[i];
    }
    return out;
  });

/** One process: what it takes to open the index and to ask it. */
async function measured(dist, store, mode) {
  const { Index } = await libraryIn(dist);
  const begin = performance.now();
  const index = await Index.open('rows', { store, embed });
  const opened = performance.now();
  const hits = await index.search(kQuery, { mode });
  const found = performance.now();
  const times = { open: opened - begin, first: found - opened, size: index.size, hits: hits.map(({ id, score }) => [id, score]) };
  process.stdout.write(JSON.stringify(times), () => process.exit(0));
}

async function make(dist, store) {
  if (existsSync(join(store, 'done'))) return;
  const { Index } = await libraryIn(dist);
  const index = await Index.open('rows', { store, embed, language });
  const texts = sentences(kRows);
  const [begin, { user: busy }] = [performance.now(), process.cpuUsage()];
  await index.add(texts.map((text, i) => ({ id: String(i), text })));
  const seconds = [(performance.now() - begin) / 1000, (process.cpuUsage().user - busy) / 1e6].map((each) => each.toFixed(1));
  const bytes = readdirSync(join(store, 'rows')).reduce((sum, file) => sum + statSync(join(store, 'rows', file)).size, 0);
  console.log(`${dist}: made in ${seconds[0]} s (${seconds[1]} s of the processor), ${Math.round(bytes / 1e6)} MB`);
  await index.dispose();
  writeFileSync(join(store, 'done'), '');
}

if (process.argv[2] === 'measure') {
  await measured(...process.argv.slice(3));
} else {
  needTexts();
  const packages = (process.env.WATTN ?? 'dist').split(',').map((each) => resolve(root, each));
  const storeOf = (i) => join(root, 'build/bench-open', `${kRows}-${language}-${packages[i].replace(/\W+/g, '-')}`);
  for (const [i, dist] of packages.entries()) {
    mkdirSync(storeOf(i), { recursive: true });
    await make(dist, storeOf(i));
  }
  const modes = ['words', 'meaning', 'hybrid'];
  const times = packages.map(() => ({ open: [], ...Object.fromEntries(modes.map((mode) => [mode, []])) }));
  const found = {};
  for (let round = 0; round < rounds; ++round) {
    for (const mode of modes) {
      for (const [i, dist] of packages.entries()) {
        const program = [fileURLToPath(import.meta.url), 'measure', dist, storeOf(i), mode];
        const { stdout, stderr } = spawnSync(process.execPath, program, { encoding: 'utf8' });
        const { open, first, size, hits } = JSON.parse(stdout || `"${stderr}"`);
        if (size !== kRows || JSON.stringify(hits) !== (found[mode] ??= JSON.stringify(hits)))
          throw new Error(`${mode}: ${stdout}${stderr}`);
        times[i].open.push(open);
        times[i][mode].push(first);
      }
    }
  }
  const rows = packages.map((dist, i) => ({
    package: basename(dist),
    rows: kRows,
    language: language ?? 'none',
    ...Object.fromEntries(
      Object.entries(times[i]).map(([name, list]) => [name, `${Math.round(median(list))} (${Math.round(Math.min(...list))})`]),
    ),
  }));
  console.table(rows);
  writeRecord('index_open', rows.map((row) => ({ ...row, rounds, host: `node ${process.version}` }))); // prettier-ignore
}
