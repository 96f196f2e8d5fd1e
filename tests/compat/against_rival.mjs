// Runs the programs with wattn and with transformers.js, and compares their results up to rounding.
//
//     node tests/compat/against_rival.mjs [FOLDER]
//
// FOLDER: where @huggingface/transformers is installed. Default: that of bench/web/against_transformers_js.mjs. transformers.js reads ONNX: only the tokenizer's
// program needs none. For others, put ONNX files of the models beside them: FOLDER/models/local/NAME/onnx/model.onnx.
import { spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { isDeepStrictEqual } from 'node:util';
import { kArguments, withImport, writeModels } from './models.mjs';

const root = fileURLToPath(new URL('../../', import.meta.url));
const rivals = process.argv[2] ?? join(root, 'build/rivals');
if (!existsSync(join(rivals, 'node_modules/@huggingface/transformers'))) {
  console.log(`skipped: no @huggingface/transformers in ${rivals}`);
  process.exit(0);
}
const place = mkdtempSync(join(rivals, 'compat-'));
writeModels(join(root, 'tests/goldens'), place);
const twins = join(rivals, 'models/local');
if (existsSync(twins)) cpSync(twins, join(place, 'local'), { recursive: true });

/** A program's answers as text, or its error. */
function answers(name, library) {
  const file = join(place, `${name}.mjs`);
  const [set, from] = library === 'wattn' ? ['compat: true, ', join(root, 'dist/node.js')] : ['', library];
  writeFileSync(file, withImport(join(root, `tests/compat/programs/${name}.mjs`), from));
  const main = `import { env } from ${JSON.stringify(from)};
    Object.assign(env, { ${set}allowRemoteModels: false, localModelPath: ${JSON.stringify(`${place}/`)} });
    const { default: run } = await import(${JSON.stringify(file)});
    const rounded = (_, value) => typeof value === 'bigint' ? Number(value) : typeof value === 'number' ? Math.round(value * 1e4) / 1e4 : value;
    console.log('answer ' + JSON.stringify(await run(${JSON.stringify(kArguments)}), rounded));
    process.exit(0);`;
  const start = join(place, 'main.mjs');
  writeFileSync(start, main);
  const { stdout, stderr } = spawnSync(process.execPath, [start], { cwd: rivals, encoding: 'utf8' });
  const line = stdout.split('\n').find((each) => each.startsWith('answer '));
  return line ? { answer: JSON.parse(line.slice(7)) } : { error: stderr.match(/^\w*Error: .*/m)?.[0] ?? stderr.slice(-300) };
}

let differs = false;
mkdirSync(join(place, 'local'), { recursive: true });
for (const file of readdirSync(join(root, 'tests/compat/programs')).filter((name) => name.endsWith('.mjs'))) {
  const name = file.replace('.mjs', '');
  const [ours, theirs] = ['wattn', '@huggingface/transformers'].map((library) => answers(name, library));
  const lacksOnnx = /\.onnx/.test(theirs.error ?? '');
  const same = isDeepStrictEqual(ours.answer, theirs.answer);
  differs ||= !ours.answer || (!lacksOnnx && !same);
  console.log(`${name}: ${ours.error ?? (lacksOnnx ? 'wattn runs; no ONNX for transformers.js' : (theirs.error ?? (same ? 'the same' : 'differs')))}`); // prettier-ignore
  if (ours.answer && theirs.answer && !same) console.log(JSON.stringify(ours.answer), '\n', JSON.stringify(theirs.answer));
}
rmSync(place, { recursive: true });
process.exit(differs ? 1 : 0);
