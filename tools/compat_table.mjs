// Writes the table of names into docs/migration.md: the names of transformers.js for text, and whether wattn has them.
//
//     node tools/compat_table.mjs [FOLDER]
//
// FOLDER: the package @huggingface/transformers. Default: where bench/web/against_transformers_js.mjs installs it. Names come from its type
// declarations and are looked up in dist/; kReasons explains each missing one. Fails if a missing name has no reason, and below 95 %.
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import * as wattn from '../dist/node.js';
import { fail, root } from './lib/shell.mjs';

const rival = process.argv[2] ?? join(root, 'build/rivals/node_modules/@huggingface/transformers');
if (!existsSync(join(rival, 'types'))) fail(`${rival} is missing: run npm install @huggingface/transformers and pass its folder`);
const text = (file) => readFileSync(join(rival, 'types', file), 'utf8');

/** Why wattn lacks a name that a text program may use, and what it has instead. */
const kReasons = {
  interpolate: 'for images only',
  interpolate_4d: 'for images only',
  rfft: 'for audio only',
  BaseModelOutput: 'a type in wattn: outputs are plain objects',
  CausalLMOutput: 'a type in wattn: outputs are plain objects',
  CausalLMOutputWithPast: 'a type in wattn: outputs are plain objects',
  MaskedLMOutput: 'a type in wattn: outputs are plain objects',
  ModelOutput: 'a type in wattn: outputs are plain objects',
  QuestionAnsweringModelOutput: 'a type in wattn: outputs are plain objects',
  Seq2SeqLMOutput: 'a type in wattn: outputs are plain objects',
  SequenceClassifierOutput: 'a type in wattn: outputs are plain objects',
  TokenClassifierOutput: 'a type in wattn: outputs are plain objects',
  return_token_type_ids: 'pass it as an option of each call',
  config: '`AutoConfig`',
  ort_tensor: 'internal: wattn does not use ONNX Runtime',
  decode_single: 'internal: use `decode`',
  add_bos_token: 'set by the post-processor in tokenizer.json',
  add_eos_token: 'set by the post-processor in tokenizer.json',
  experimental_useCrossOriginStorage: 'an experimental browser feature',
  cacheKey: 'cache entries are keyed by content hash',
  num_beam_groups: 'also ignored by transformers.js',
  penalty_alpha: 'also ignored by transformers.js',
  diversity_penalty: 'also ignored by transformers.js',
  force_words_ids: 'also ignored by transformers.js',
  constraints: 'also ignored by transformers.js',
  remove_invalid_values: 'also ignored by transformers.js',
  forced_decoder_ids: 'for speech only',
  guidance_scale: 'for music only',
  output_attentions: 'call the model with the ids that `generate` returns',
  output_hidden_states: 'call the model with the ids that `generate` returns',
  generation_kwargs: 'also ignored by transformers.js',
};

/** Exports that are not for text, or one for each architecture, which the Auto classes stand for. */
const kOtherKinds =
  /Audio|Document|Image|Video|Vision|Speech|Spectrogram|Waveform|CTC|XVector|Depth|Normal|Pose|Segmentation|Detection|MaskGeneration|Matting|Whisper|Processor|FeatureExtractor|ToText$|^load_|^read_/;
const isOfArchitecture = (file) => /^models\/(?!auto\/|modeling_)|^pipelines\//.test(file);
/** Options of images and of processors. */
const kNoText = /^PretrainedProcessorOptions$|^RawImage$|^RawAudio$/;
const isInner = (name) => /^_|Callback$|Mixin$|LogitsWarper$|LogitsProcessor(List)?$|Registry$(?<!ModelRegistry)/.test(name);

/** The values that a declaration file exports, each with the file it is from. */
function* exportsOf(file, seen = new Set()) {
  if (seen.has(file)) return;
  seen.add(file);
  const source = text(file);
  const from = (path) => join(dirname(file), path.replace(/\.js$/, '.d.ts'));
  for (const [, path] of source.matchAll(/^export \* from "(.+)";/gm)) yield* exportsOf(from(path), seen);
  for (const [, names, path] of source.matchAll(/^export \{ (.+) \} from "(.+)";/gm)) {
    for (const each of names.split(', ')) yield [each.split(' as ').at(-1), from(path)];
  }
  for (const [, name] of source.matchAll(/^export (?:declare )?(?:abstract )?(?:class|function|const|let|namespace) (\w+)/gm)) {
    yield [name, file];
  }
}

/** The types that a declaration file exports: aliases, interfaces, and classes, each of which is a type, too. */
function* typesOf(file, seen = new Set()) {
  if (seen.has(file)) return;
  seen.add(file);
  const source = text(file);
  const from = (path) => join(dirname(file), path.replace(/\.js$/, '.d.ts'));
  for (const [, path] of source.matchAll(/^export \* from "(.+)";/gm)) yield* typesOf(from(path), seen);
  for (const [, names, path] of source.matchAll(/^export \{ (.+) \}(?: from "(.+)")?;/gm)) {
    const place = path ? from(path) : file;
    const isType = (name) =>
      !path || new RegExp(`^export (?:declare )?(?:abstract )?(?:class|type|interface) ${name}\\b`, 'm').test(text(place));
    for (const each of names.split(', ')) if (isType(each.split(' as ')[0])) yield [each.split(' as ').at(-1), place];
  }
  const declared = /^export (?:declare )?(?:abstract )?(?:class|type|interface) (\w+)/gm;
  for (const [, name] of source.matchAll(declared)) yield [name, file];
}

/** The members of a class, or of an object type, at the first level of its declaration. */
function membersOf(file, head) {
  const source = text(file);
  const begin = source.indexOf(head);
  if (begin < 0) fail(`${file} has no '${head}'`);
  const body = source.slice(begin, source.indexOf('\n}', begin));
  const names = [...body.matchAll(/^ {4}(?:get |set |readonly )?(\w+)(?=[?:(<])/gm)].map(([, name]) => name);
  return [...new Set(names)].filter((name) => !/^_|^constructor$/.test(name));
}

const env = { localModelPath: join(root, 'tests/goldens'), allowRemoteModels: false };
const before = { ...wattn.env };
Object.assign(wattn.env, env);
const tokenizer = await wattn.AutoTokenizer.from_pretrained('bert-tiny/model');
const model = await wattn.AutoModelForCausalLM.from_pretrained('decoders/llama');
const tensor = new wattn.Tensor('float32', [1, 2], [1, 2]);

/** Whether a call takes an option: an unknown one is refused before anything else. */
async function takes(call, name) {
  try {
    await call({ [name]: undefined });
    return true;
  } catch (error) {
    return !/unknown option/.test(error.message);
  }
}
const generates = (options) => model.generate({ input_ids: [[1]], max_new_tokens: 1, ...options });
const loads = (options) => wattn.AutoModel.from_pretrained('bert-tiny/model', options);
const hasTask = async (task) => {
  const error = await wattn.pipeline(task, 'no/such').catch((each) => each);
  return !/expected a task of/.test(error.message);
};
const isMissing = async (name) => {
  const error = await generates({ [name]: 1 }).catch((each) => each);
  return error instanceof wattn.UnsupportedError;
};

const values = [...exportsOf('transformers.d.ts')];
const own = values
  .filter(([name, file]) => !isOfArchitecture(file) && !kOtherKinds.test(name) && !isInner(name))
  .map(([name]) => name);
const texts = text('pipelines.d.ts').matchAll(/^ \* {2}- `"([\w-]+)"`(?: \(alias "([\w-]+)")?/gm);
const tasks = [...texts].flatMap(([, task, alias]) => [task, alias]).filter(Boolean);
const isOfText = (task) => !/audio|image|speech|asr|object|depth|background|document/.test(task);

const ofText = [...typesOf('transformers.d.ts')].filter(
  ([name, file]) =>
    !isOfArchitecture(file) && !kOtherKinds.test(name.replace(/(Output|Pipeline)$/, '')) && !isInner(name) && !kNoText.test(name),
);
const kOtherOutputs =
  /^(Audio|Image|Video|Document|Depth|Object|ZeroShotAudio|ZeroShotImage|ZeroShotObject|Automatic|TextTo|Background)/;
const typeNames = [...new Set(ofText.map(([name]) => name))].filter((name) => !kOtherOutputs.test(name));
const declared = new Set([...typesOfOwn()]);

/** The types of wattn's index. */
function* typesOfOwn(file = 'web/entries/index.ts', seen = new Set()) {
  if (seen.has(file)) return;
  seen.add(file);
  const source = readFileSync(join(root, file), 'utf8');
  const from = (path) => join(dirname(file), path.replace(/\.js$/, '.ts'));
  for (const [, path] of source.matchAll(/^export (?:type )?\* from '(.+)';/gm)) yield* typesOfOwn(from(path), seen);
  for (const [, names] of source.matchAll(/^export (?:type )?\{([^}]+)\}/gm))
    yield* names.split(',').map((each) => each.trim().split(' ').at(-1));
  for (const [, name] of source.matchAll(/^export (?:abstract )?(?:class|type|interface) (\w+)/gm)) yield name;
}

const groups = [
  ['types', typeNames, (name) => declared.has(name)],
  ['exports', [...new Set(own)], (name) => name in wattn],
  ['tasks of `pipeline`', tasks.filter(isOfText), hasTask],
  ['options of `pipeline` and `from_pretrained`', membersOf('utils/hub.d.ts', 'export type PretrainedOptions =').concat(membersOf('utils/hub.d.ts', 'export type ModelSpecificPretrainedOptions =')), (name) => takes(loads, name)], // prettier-ignore
  ['options of `generate`', membersOf('generation/configuration_utils.d.ts', 'export class GenerationConfig'), async (name) => (await takes(generates, name)) && !(await isMissing(name))], // prettier-ignore
  ['`env`', membersOf('env.d.ts', 'export type TransformersEnvironment ='), (name) => name in wattn.env],
  ['members of `Tensor`', membersOf('utils/tensor.d.ts', 'export class Tensor'), (name) => name in tensor],
  ['members of a tokenizer', membersOf('tokenization_utils.d.ts', 'export class PreTrainedTokenizer'), (name) => name in tokenizer || name === 'from_pretrained'], // prettier-ignore
  ['members of `TextStreamer`', membersOf('generation/streamers.d.ts', 'export class TextStreamer').filter((name) => /^(put|end|on_|tokenizer|callback|token_callback)/.test(name)), (name) => name in new wattn.TextStreamer(tokenizer)], // prettier-ignore
];

const rows = [];
const missing = [];
let [all, there] = [0, 0];
for (const [title, names, has] of groups) {
  const found = [];
  for (const name of names) {
    if (await has(name)) found.push(name);
    else missing.push([title, name]);
  }
  all += names.length;
  there += found.length;
  rows.push(`| ${title} | ${found.length} of ${names.length} | ${found.map((name) => `\`${name}\``).join(' ')} |`);
}
Object.assign(wattn.env, before);
await model.dispose();

const unexplained = missing.filter(([, name]) => !Object.hasOwn(kReasons, name));
const idle = Object.keys(kReasons).filter((name) => !missing.some(([, one]) => one === name));
if (unexplained.length > 0) fail(`no reason for ${unexplained.map((pair) => pair.join(': ')).join(', ')}`);
if (idle.length > 0) fail(`a reason for what is not missing: ${idle.join(', ')}`);
// Text programs do not use names that transformers.js ignores, that are not for text, or that only the library calls.
const noUse = missing.filter(([, name]) =>
  /^also ignored by transformers|^for (images|audio|speech|music) only|^internal|^a type in wattn|^an experimental/.test(
    kReasons[name],
  ),
).length;
const share = there / (all - noUse);
const { version } = JSON.parse(readFileSync(join(rival, 'package.json'), 'utf8'));
const table = `Of ${all - noUse} names that version ${version} declares for text, wattn has ${there} (${(100 * share).toFixed(1)} %). The count leaves out classes for images and
audio, and classes for single architectures (\`BertModel\`, \`GPT2Tokenizer\`): \`AutoModel..\` and \`AutoTokenizer\` load every architecture.

| | in wattn | names |
|---|---|---|
${rows.join('\n')}

Missing names, and what to use instead:

| name | use instead, or reason |
|---|---|
${missing.map(([title, name]) => `| \`${name}\` (${title.replace(/ \(.*/, '')}) | ${kReasons[name]} |`).join('\n')}
`;

const document = join(root, 'docs/migration.md');
const kMarks = ['<!-- names: node tools/compat_table.mjs -->\n\n', '\n<!-- end of names -->'];
const [start, end] = kMarks.map((mark) => readFileSync(document, 'utf8').indexOf(mark));
if (start < 0 || end < start) fail(`${document} has no marks for the table`);
const whole = readFileSync(document, 'utf8');
writeFileSync(document, whole.slice(0, start) + kMarks[0] + table + whole.slice(end));
console.log(`note: ${there} of ${all - noUse} names, ${missing.length} with a reason`);
if (share < 0.95) fail(`below 95 %: ${(100 * share).toFixed(1)} %`);
