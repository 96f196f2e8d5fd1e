// Tests the constraints with the public JSON-Schema-Test-Suite: node tools/check_schemas.mjs FOLDER [WALKS] [SEED]. FOLDER: `tests` of a checkout
// of https://github.com/json-schema-org/JSON-Schema-Test-Suite. Prints how many schemas are accepted and which keywords refuse the others. It
// lists instances whose result differs from the suite's, and which of WALKS random outputs of each accepted schema are invalid for Ajv.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Ajv } from 'ajv';
import { Ajv2020 } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import { makeConstraint, randomOf } from './lib/constraint.mjs';
import { fail } from './lib/shell.mjs';

const [folder, walks = '3', firstSeed = '1'] = process.argv.slice(2);
if (!folder) fail('expected the folder `tests` of JSON-Schema-Test-Suite');
const kDrafts = { 'draft2020-12': Ajv2020, draft7: Ajv };
const random = randomOf(firstSeed);

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
      const constraint = makeConstraint('json_schema', schema);
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
        const text = constraint.walk(random);
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
