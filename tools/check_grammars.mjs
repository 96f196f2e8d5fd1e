// Compares wattn's constraints with transformers.js's StructuredOutputProcessor and llama.cpp's grammars on the same texts: node
// tools/check_grammars.mjs [FOLDER] [WALKS] [SEED].
// FOLDER: `tests` of a checkout of https://github.com/json-schema-org/JSON-Schema-Test-Suite; without it, only the last part is done. Prints
// - random outputs that the others' constraint allows for a schema: which Ajv finds invalid, and what wattn does with each (it must take the valid and refuse the invalid);
// - schemas that others take and wattn refuses;
// - llama.cpp's own grammars as GBNF: outputs of one machine that the other refuses.
// The others come from npm into build/rivals. llama.cpp reads its vocabulary from a packed model: ../shared/data/tokenizers.
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { Ajv2020 } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import { packedLlama } from '../bench/web/lib/llama.mjs';
import { makeConstraint, randomOf, walk } from './lib/constraint.mjs';
import { folderOfRival, importRival, installRivals } from './lib/rivals.mjs';

const [folder, walks = '20', seed = '1'] = process.argv.slice(2);
const file = packedLlama(30);
if (!file) process.exit(0);
installRivals('@huggingface/transformers@4.3.1', '@huggingface/transformers-structured-output@4.3.0', 'node-llama-cpp@3.22.1');
const { getLlama, LlamaGrammarEvaluationState } = await importRival('node-llama-cpp');
const random = randomOf(seed);

let worker;
/** Random outputs of transformers.js's constraint of a schema, as { outputs }; { refused } when it has none, or has not answered after 20 seconds. */
async function outputsOf(schema) {
  const answer = () => once(worker, 'message').then(([found]) => found);
  if (!worker) {
    worker = new Worker(new URL('lib/structured_output_worker.mjs', import.meta.url));
    await answer();
  }
  let timer;
  const late = new Promise((resolve) => (timer = setTimeout(resolve, 20_000, { refused: 'no answer after 20 s', isLate: true })));
  worker.postMessage({ schema, walks: Number(walks), seed: Math.floor(2 ** 31 * random()) });
  const found = await Promise.race([answer(), late]);
  clearTimeout(timer);
  if (found.isLate) {
    await worker.terminate();
    worker = undefined;
  }
  return found;
}

/** Every schema of the suite's folder for the newest draft that stands alone: [where, schema]. */
function schemasOf() {
  const draft = join(folder, 'draft2020-12');
  const files = readdirSync(draft).filter((name) => name.endsWith('.json') && name !== 'format.json');
  const groups = files.flatMap((name) => JSON.parse(readFileSync(join(draft, name), 'utf8')).map((group) => [name, group]));
  return groups.map(([name, { description, schema }]) => [`${name}: ${description}`, schema]);
}

/** Whether a text is what the schema asks for. undefined: Ajv cannot say. */
function judgeOf(schema) {
  try {
    const judge = new Ajv2020({ strict: false, multipleOfPrecision: 9 });
    addFormats(judge);
    const validate = judge.compile(schema);
    return (text) => {
      try {
        return validate(JSON.parse(text));
      } catch {
        return false;
      }
    };
  } catch {
    return undefined;
  }
}

/** The text as JSON.stringify writes it. undefined: it is none of wattn's texts, as it repeats a key or has a number beyond docs/structured.md's. */
function compact(text) {
  let isOurs = true;
  const value = JSON.parse(text, (_, part) => {
    const size = Math.abs(part);
    if (typeof part === 'number' && !Object.is(part, 0) && !(size > 1e-90 && size < 1e21)) isOurs = false;
    return part;
  });
  const short = JSON.stringify(value);
  const keys = (json) => (json.match(/"(?:[^"\\]|\\.)*"\s*:/g) ?? []).length;
  return isOurs && keys(short) === keys(text) ? short : undefined;
}

const sum = {
  schemas: 0,
  'too slow': 0,
  theirs: 0,
  both: 0,
  'only theirs': 0,
  outputs: 0,
  'invalid, refused': 0,
  'invalid, taken': 0,
  'valid, taken': 0,
  'valid, refused': 0,
};
for (const [where, schema] of folder ? schemasOf() : []) {
  ++sum.schemas;
  const isValid = judgeOf(schema);
  const own = makeConstraint('json_schema', schema);
  const { outputs, refused, isLate } = await outputsOf(schema);
  if (isLate) ++sum['too slow'];
  if (refused) continue;
  ++sum.theirs;
  if (own.refused?.includes('no text satisfies')) continue; // theirs finds out when it generates
  if (own.refused) {
    ++sum['only theirs'];
    console.log(`only theirs: ${where}: ${own.refused}`);
    continue;
  }
  ++sum.both;
  for (const text of isValid ? outputs : []) {
    ++sum.outputs;
    const valid = isValid(text);
    const short = valid ? compact(text) : text;
    if (short === undefined) continue;
    const verdict = `${valid ? 'valid' : 'invalid'}, ${own.accepts(short) ? 'taken' : 'refused'}`;
    ++sum[verdict];
    if (verdict === 'invalid, taken' || verdict === 'valid, refused') console.log(`${verdict}: ${where}: ${short.slice(0, 200)}`);
  }
}
await worker?.terminate();
if (folder) console.table([sum]);

const llama = await getLlama({ gpu: false, build: 'never', maxThreads: 1, logLevel: 'error' });
const model = await llama.loadModel({ modelPath: file });
const kFirstByte = 3; // Llama's vocabulary: <unk>, <s>, </s>, and then the bytes
const kEnd = 2;
const { AddonSampler } = llama._bindings;
const may = (state, token) => AddonSampler.canBeNextTokenForGrammarEvaluationState(state._state, token);

/** llama.cpp's machine of a grammar, over the bytes of its vocabulary. */
async function makeLlamaGrammar(text) {
  const grammar = await llama.createGrammar({ grammar: text });
  const begin = () => new LlamaGrammarEvaluationState({ model, grammar });
  const take = (state, byte) => AddonSampler.acceptGrammarEvaluationStateToken(state._state, kFirstByte + byte);
  const bytes = [...Array(256).keys()];
  return {
    accepts(given) {
      const state = begin();
      for (const byte of Buffer.from(given)) {
        if (!may(state, kFirstByte + byte)) return false;
        take(state, byte);
      }
      return may(state, kEnd);
    },
    walk() {
      const state = begin();
      return walk(random, {
        allowed: () => bytes.filter((byte) => may(state, kFirstByte + byte)),
        mayEnd: () => may(state, kEnd),
        take: (byte) => take(state, byte),
      });
    },
  };
}

const rows = [];
const grammars = join(folderOfRival('node-llama-cpp'), 'llama/grammars');
for (const name of readdirSync(grammars).filter((one) => one.endsWith('.gbnf'))) {
  const text = readFileSync(join(grammars, name), 'utf8');
  const own = makeConstraint('gbnf', text);
  if (own.refused) {
    console.log(`refused: ${name}: ${own.refused}`);
    continue;
  }
  const theirs = await makeLlamaGrammar(text);
  const row = { grammar: name, ours: 0, 'they refuse': 0, theirs: 0, 'we refuse': 0 };
  for (let count = 0; count < Number(walks); ++count) {
    const [mine, other] = [own.walk(random), theirs.walk()];
    for (const [output, judge, all, bad] of [
      [mine, theirs, 'ours', 'they refuse'],
      [other, own, 'theirs', 'we refuse'],
    ]) {
      if (output === undefined || output.includes('\0')) continue; // llama.cpp takes a zero for the end
      ++row[all];
      if (output !== 'a dead end' && judge.accepts(output)) continue;
      ++row[bad];
      console.log(`${bad}: ${name}: ${JSON.stringify(output.slice(0, 200))}`);
    }
  }
  rows.push(row);
}
console.table(rows);
await llama.dispose();
