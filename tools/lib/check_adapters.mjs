// Runs the adapters from tools/check_adapters.py and compares their results with PEFT's.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { AutoModel, AutoModelForCausalLM } from '../../dist/node.js';

const { goldens, ids, cases } = JSON.parse(readFileSync(process.argv[2], 'utf8'));
const classes = { Model: AutoModel, ForCausalLM: AutoModelForCausalLM };
const counts = { equal: 0, refused: 0, differ: 0 };
const reasons = new Map();

/** The base's files, with the tokenizer of another where it has none. */
function filesOf(base) {
  const files = new Map();
  for (const from of ['bert-tiny/model', base]) {
    for (const name of readdirSync(join(goldens, from))) {
      if (/^(config|tokenizer|model)\..*$/.test(name)) files.set(name, readFileSync(join(goldens, from, name)));
    }
  }
  return files;
}

async function outputsOf(model) {
  const out = [];
  for (const one of ids) {
    const { logits, last_hidden_state } = await model({ input_ids: [one] });
    out.push((logits ?? last_hidden_state).data);
  }
  return out;
}

const bases = new Map();
for (const one of cases) {
  if (!one.made) continue;
  const files = bases.get(one.base) ?? filesOf(one.base);
  bases.set(one.base, files);
  const tell = (what) => console.log(`${one.name} ${what}: ${one.config} ${JSON.stringify(one.fields)}`);
  let model;
  try {
    model = await classes[one.class].from_pretrained(files, { adapter: one.folder });
    const compare = async (when) => {
      const found = await outputsOf(model);
      const apart = Math.max(
        ...found.flatMap((values, i) => Array.from(values, (value, j) => Math.abs(value - one.outputs[i][j]))),
      );
      const largest = Math.max(...one.outputs.flat().map(Math.abs));
      if (apart <= 2e-5 * largest) return true;
      tell(`differs ${when} by ${apart} of ${largest}`);
      return false;
    };
    const isEqual = (await compare('')) && (await model.merge_and_unload(), await compare('merged'));
    ++counts[isEqual ? 'equal' : 'differ'];
  } catch (error) {
    const known = ['UnsupportedError', 'ModelFormatError'].includes(error.name);
    if (!known) tell(`fails with ${error.stack}`);
    ++counts[known ? 'refused' : 'differ'];
    const reason = `${error.name}: ${error.message.replace(/'[^']*'/g, "'..'").slice(0, 110)}`;
    reasons.set(reason, [...(reasons.get(reason) ?? []), one.name]);
  } finally {
    await model?.dispose();
  }
}
for (const [reason, names] of reasons) console.log(`${names.length} refused (${names.slice(0, 3).join(', ')}): ${reason}`);
console.log(`${counts.equal} equal, ${counts.refused} refused by name, ${counts.differ} differ`);
process.exitCode = counts.differ > 0 ? 1 : 0;
