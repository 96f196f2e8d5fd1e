// Measures memory and time for the models in models/catalog.json that are on this machine, and writes them there: `node tools/models/measure.mjs`,
// then `node tools/models_table.mjs` for docs/choose.md. The time is of one thread: the least processor time of many rounds, so that other work on
// the machine counts little. Needs dist/, and all-MiniLM-L6-v2 (npm run test:models downloads it).
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { cpus } from 'node:os';
import { join } from 'node:path';
import { format, resolveConfig } from 'prettier';
import { pipeline } from '../../dist/node.js';
import { modelsDir } from '../lib/models.mjs';
import { root } from '../lib/shell.mjs';
import { catalogFile } from './catalog.mjs';

const kRounds = 60;
const kTokens = 32; // written by a decoder in each round

const catalog = JSON.parse(readFileSync(catalogFile, 'utf8'));
const folderOf = ({ id, file }) => join(...(file ? [root, file] : [modelsDir, id.split('/')[1]]));

/** Milliseconds of processor time, the least of all rounds. */
async function leastMs(call) {
  let least = Infinity;
  for (let round = 0; round < kRounds; ++round) {
    const begin = process.cpuUsage();
    await call();
    const { user, system } = process.cpuUsage(begin);
    least = Math.min(least, (user + system) / 1000);
  }
  return least;
}

/** Bytes held, and ms of one text or of one token that is written. */
async function measured(model) {
  const [task] = model.tasks;
  const pipe = await pipeline(task, folderOf(model), { dtype: 'q8', threads: 1 });
  const writes = task === 'text-generation';
  const call = () =>
    writes ? pipe('Once upon a time', { max_new_tokens: kTokens, min_new_tokens: kTokens }) : pipe(catalog.measured.text);
  const ms = (await leastMs(call)) / (writes ? kTokens : 1);
  const memory = pipe.memory().total;
  await pipe.dispose();
  return { memory, ms: Number(ms.toPrecision(2)), ...(writes && { ms_of: 'a token' }) };
}

for (const model of catalog.models) {
  if (model.from === 'card' || !existsSync(folderOf(model))) continue;
  Object.assign(model, await measured(model));
  console.log(model.id, model.memory, model.ms);
}
const [{ model }] = cpus();
catalog.measured.on = `${model.trim()}, Node ${process.version.slice(1)}, one thread, q8`;
catalog.measured.date = new Date().toISOString().slice(0, 10);
writeFileSync(catalogFile, await format(JSON.stringify(catalog), { ...(await resolveConfig(catalogFile)), filepath: catalogFile }));
