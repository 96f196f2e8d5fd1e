// Asks the constraints about the public JSON-Schema-Test-Suite: node tools/check_schemas.mjs FOLDER [WALKS] [SEED]. FOLDER: `tests` of a checkout of
// https://github.com/json-schema-org/JSON-Schema-Test-Suite. Prints how many schemas are accepted and which keywords refuse the others. It lists
// instances that are judged otherwise than the suite says, and which of WALKS random outputs of each accepted schema Ajv finds invalid.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Ajv } from 'ajv';
import { Ajv2020 } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import { fail, root } from './lib/shell.mjs';

const [folder, walks = '3', firstSeed = '1'] = process.argv.slice(2);
if (!folder) fail('expected the folder `tests` of JSON-Schema-Test-Suite');
const kDrafts = { 'draft2020-12': Ajv2020, draft7: Ajv };
const module = new WebAssembly.Module(readFileSync(join(root, 'dist/wattn-constraints.wasm')));
let seed = Number(firstSeed);
const random = () => (seed = (Math.imul(seed, 1103515245) + 12345) >>> 0) / 2 ** 32;

/** Each code point with a property, as a range. */
function rangesOf(name) {
  const property = new RegExp(`^\\p{${name}}$`, 'u');
  return Array.from({ length: 0x110000 }, (_, c) => c).flatMap((c) => (property.test(String.fromCodePoint(c)) ? [c, c] : []));
}

/** The constraint of a schema over all single bytes. */
function makeConstraint(schema) {
  const memory = new WebAssembly.Memory({ initial: 64, maximum: 65536 });
  const env = { memory, emscripten_notify_memory_growth() {} };
  const { exports } = new WebAssembly.Instance(module, { env });
  exports._initialize?.();
  const write = (bytes) => {
    const at = exports.room(bytes.length);
    new Uint8Array(memory.buffer).set(bytes, at);
    return bytes.length;
  };
  write(new Uint8Array([...new Uint8Array(new Int32Array(256).fill(1).buffer), ...Array(256).keys()]));
  exports.set_vocabulary(256, 256);
  const text = JSON.stringify(schema);
  for (const name of new Set(Array.from(text.matchAll(/\\[pP]\{(\w+)\}/g), ([, name]) => name))) {
    const ranges = rangesOf(name);
    exports.define_property(ranges.length, write(Buffer.concat([Buffer.from(Int32Array.from(ranges).buffer), Buffer.from(name)])) - 4 * ranges.length); // prettier-ignore
  }
  const number = exports.compile(0, write(new TextEncoder().encode(text)), 0, 0);
  if (number < 0) {
    const at = exports.answer();
    return { refused: new TextDecoder().decode(new Uint8Array(memory.buffer).slice(at, at + exports.answer_bytes())) };
  }
  return {
    accepts(text) {
      const state = exports.after_bytes(number, exports.start(number), write(new TextEncoder().encode(text)));
      return state !== 0 && exports.may_end(number, state) === 1;
    },
    /** A random output; undefined for one that is long. */
    walk() {
      const out = [];
      for (let state = exports.start(number); out.length < 3000;) {
        const mask = new Uint32Array(memory.buffer, exports.mask(number, state), 8);
        const allowed = [...Array(256).keys()].filter((byte) => (mask[byte >> 5] >>> (byte & 31)) & 1);
        const mayEnd = exports.may_end(number, state) === 1;
        if (mayEnd && (allowed.length === 0 || random() < 0.3)) return Buffer.from(out).toString();
        if (allowed.length === 0) return 'a dead end';
        // Marks that end something are preferred more and more.
        const ends = [...'"}]'].map((c) => c.charCodeAt(0)).filter((byte) => allowed.includes(byte));
        const isEnd = ends.length > 0 && random() < 0.25 + out.length / 500;
        const from = isEnd ? ends : allowed;
        const byte = from[Math.floor(random() * from.length)];
        out.push(byte);
        state = exports.after(number, state, byte);
      }
      return undefined;
    },
  };
}

const filesOf = (draft) =>
  ['', 'optional/format'].flatMap((part) =>
    readdirSync(join(folder, draft, part))
      .filter((file) => file.endsWith('.json') && !(part === '' && file === 'format.json')) // there formats are notes
      .map((file) => join(draft, part, file)),
  );

const [refusals, missed, wrong, invalid] = [new Map(), [], [], []];
let [schemas, accepted, instances, outputs] = [0, 0, 0, 0];
for (const [draft, Judge] of Object.entries(kDrafts)) {
  for (const file of filesOf(draft)) {
    for (const { description, schema, tests } of JSON.parse(readFileSync(join(folder, file), 'utf8'))) {
      ++schemas;
      const constraint = makeConstraint(schema);
      if (constraint.refused) {
        if (constraint.refused.includes('no text satisfies') && tests.every(({ valid }) => !valid)) ++accepted;
        else {
          const keyword = /keyword '([^']*)'/.exec(constraint.refused)?.[1] ?? constraint.refused;
          refusals.set(keyword, (refusals.get(keyword) ?? 0) + 1);
        }
        continue;
      }
      ++accepted;
      for (const { description: test, data, valid } of tests) {
        ++instances;
        const text = JSON.stringify(data);
        if (constraint.accepts(text) !== valid) (valid ? missed : wrong).push(`${file}: ${description}: ${test}: ${text}`);
      }
      let validate;
      try {
        const judge = new Judge({ strict: false, multipleOfPrecision: 9 });
        addFormats(judge);
        validate = judge.compile(schema);
      } catch {
        continue; // Ajv does not know it
      }
      for (let walk = 0; walk < Number(walks); ++walk) {
        const text = constraint.walk();
        if (text === undefined) continue;
        ++outputs;
        let isValid = false;
        try {
          isValid = validate(JSON.parse(text));
        } catch {
          // no JSON
        }
        if (!isValid) invalid.push(`${file}: ${description}: ${text.slice(0, 200)}`);
      }
    }
  }
}
for (const [name, list] of Object.entries({ missed, wrong, invalid })) for (const each of list) console.log(`${name}: ${each}`);
console.log(`refused by keyword: ${JSON.stringify(Object.fromEntries(refusals))}`);
console.log(
  `${accepted} of ${schemas} schemas accepted; of ${instances} instances ${missed.length} valid ones missed, ${wrong.length} invalid ones accepted; of ${outputs} outputs ${invalid.length} invalid for Ajv`,
);
