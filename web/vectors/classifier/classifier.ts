// Fits a classifier.
import { plainCallback } from '../../core/callback.js';
import { describe, InputError } from '../../core/errors.js';
import { checkOptions, type Rules } from '../../core/options.js';
import { Breather } from '../../core/signal.js';
import type { ClassifierOptions, ClassifierProgress, Embedder, Examples } from '../classifier_types.js';
import { findTemperature, makeReport, type Judged } from './report.js';
import { trainLogistic } from './logistic.js';
import { trainMlp } from './mlp.js';
import { logitsOf, type Data, type Layer, type Tick } from './network.js';
import { makeRandom, shuffle } from '../../core/random.js';
import type { Fitted } from './network.js';
import { makeTextClassifier } from './text_classifier.js';
import { embedAll, type Vectors } from './vectors.js';

const kRules: Rules = {
  kind: ['logistic', 'mlp'],
  C: 'any',
  max_iterations: 'count',
  tolerance: 'any',
  hidden_size: 'count',
  epochs: 'count',
  learning_rate: 'any',
  weight_decay: 'any',
  class_weight: ['balanced'],
  validation: 'any',
  calibrate: 'boolean',
  seed: 'index',
  embed_options: 'any',
  progress_callback: 'function',
  signal: 'signal',
};

const where = 'Classifier.fit';

function positive(
  name: 'C' | 'tolerance' | 'learning_rate' | 'weight_decay',
  options: ClassifierOptions,
  fallback: number,
): number {
  const value = options[name] ?? fallback;
  const fits = typeof value === 'number' && Number.isFinite(value) && (name === 'weight_decay' ? value >= 0 : value > 0);
  if (!fits) throw new InputError(`${where}: option '${name}': expected a number above 0, found ${describe(value)}`);
  return value;
}

function checkLabels(texts: Examples, labels: unknown): asserts labels is readonly string[] {
  if (!Array.isArray(labels)) throw new InputError(`${where}: labels: expected an array of strings, found ${describe(labels)}`);
  const bad = labels.findIndex((label) => typeof label !== 'string');
  if (bad >= 0) throw new InputError(`${where}: labels: expected a string at index ${bad}, found ${describe(labels[bad])}`);
  const count = 'dims' in texts ? texts.dims[0] : texts.length;
  if (count !== labels.length) {
    throw new InputError(`${where}: expected as many labels as texts, found ${labels.length} labels and ${count} texts`);
  }
}

/** Examples as numbers: a label becomes its index in names. */
function toData({ data, dim }: Vectors, labels: readonly string[], names: readonly string[], balanced: boolean): Data {
  const numbers = Int32Array.from(labels, (label) => {
    const number = names.indexOf(label);
    if (number < 0)
      throw new InputError(`${where}: validation: expected a label of the training examples, found ${describe(label)}`);
    return number;
  });
  const counts = names.map((_, i) => numbers.reduce((count, label) => count + (label === i ? 1 : 0), 0));
  const weight = (label: number) => (balanced ? numbers.length / (names.length * (counts[label] as number)) : 1);
  return { vectors: data, dim, labels: numbers, num_labels: names.length, weights: Float64Array.from(numbers, weight) };
}

function subset({ vectors, dim, labels, weights, num_labels }: Data, rows: Int32Array): Data {
  const some = new Float64Array(rows.length * dim);
  rows.forEach((row, i) => some.set(vectors.subarray(row * dim, (row + 1) * dim), i * dim));
  return {
    vectors: some,
    dim,
    num_labels,
    labels: rows.map((row) => labels[row] as number),
    weights: Float64Array.from(rows, (row) => weights[row] as number),
  };
}

/** The fold of each example. Examples of each label are distributed evenly. */
function dealFolds({ labels }: Data, folds: number, seed: number): Int32Array {
  const order = Int32Array.from(labels, (_, i) => i);
  shuffle(order, makeRandom(seed));
  const dealt = new Map<number, number>();
  let turn = 0;
  const out = new Int32Array(labels.length);
  for (const row of order) {
    const label = labels[row] as number;
    const next = dealt.get(label) ?? turn++;
    out[row] = next % folds;
    dealt.set(label, next + 1);
  }
  return out;
}

/** Rounds to f32, the saved precision, so that a loaded classifier has the same bits. */
const toSingle = (network: Layer[]) =>
  network.map(({ weight, bias }) => ({ weight: weight.map(Math.fround), bias: bias.map(Math.fround) }));

type Train = (data: Data, tick: Tick) => Promise<Layer[]>;

async function crossValidate(data: Data, folds: number, seed: number, train: Train, tick: (fold: number) => Tick): Promise<Judged> {
  const fold = dealFolds(data, folds, seed);
  const logits = new Float64Array(data.labels.length * data.num_labels);
  for (let f = 0; f < folds; ++f) {
    const rows = Int32Array.from(data.labels, (_, i) => i);
    const held = rows.filter((row) => fold[row] === f);
    const network = await train(
      subset(
        data,
        rows.filter((row) => fold[row] !== f),
      ),
      tick(f),
    );
    const answers = logitsOf(network, subset(data, held).vectors, data.dim);
    held.forEach((row, i) => {
      logits.set(answers.subarray(i * data.num_labels, (i + 1) * data.num_labels), row * data.num_labels);
    });
  }
  return { logits, labels: data.labels };
}

function takeFolds(validation: unknown, labels: readonly string[]): number {
  if (validation === undefined || validation === null) return 0;
  if (typeof validation === 'object' && 'texts' in validation && 'labels' in validation) return 0;
  const counts = new Map<string, number>();
  for (const label of labels) counts.set(label, (counts.get(label) ?? 0) + 1);
  const most = [...counts.values()].reduce((a, b) => Math.max(a, b), 0); // labels with fewer examples are missing in some folds
  if (Number.isInteger(validation) && (validation as number) >= 2 && (validation as number) <= most) return validation as number;
  const folds = most < 2 ? 'at least two examples of a label for folds' : `from 2 to ${most} folds (no label has more examples)`;
  throw new InputError(`${where}: option 'validation': expected ${folds}, or { texts, labels }, found ${describe(validation)}`);
}

function makeTrainer(options: ClassifierOptions): Train {
  if (options.kind === 'mlp') {
    const mlp = {
      hidden_size: options.hidden_size ?? 64,
      epochs: options.epochs ?? 40,
      learning_rate: positive('learning_rate', options, 0.003),
      weight_decay: positive('weight_decay', options, 1e-4),
      seed: options.seed ?? 0,
    };
    return (data, tick) => trainMlp(data, mlp, tick);
  }
  const logistic = {
    C: positive('C', options, 1),
    max_iterations: options.max_iterations ?? 200,
    tolerance: positive('tolerance', options, 1e-5),
  };
  return (data, tick) => trainLogistic(data, logistic, tick);
}

export async function fitClassifier(embed: Embedder, texts: Examples, labels: readonly string[], options: ClassifierOptions) {
  checkOptions(where, options, kRules);
  checkLabels(texts, labels);
  const { validation, embed_options } = options;
  const signal = options.signal ?? undefined;
  const folds = takeFolds(validation, labels);
  const names = [...new Set(labels)].sort();
  if (names.length < 2) throw new InputError(`${where}: labels: expected at least two different ones, found ${names.length}`);
  const train = makeTrainer(options);
  const breather = new Breather();
  const report = plainCallback<ClassifierProgress>(options.progress_callback);
  const ticker =
    (stage: 'validate' | 'train', part = 0, parts = 1): Tick =>
    async (done, total, loss) => {
      report({ stage, done: part * total + done, total: parts * total, loss });
      await breather.breathe(signal);
    };
  const embedding = { where, embed_options, signal, report };
  const vectors = await embedAll(embed, texts, embedding);
  const data = toData(vectors, labels, names, options.class_weight === 'balanced');
  let judged =
    folds > 0 ? await crossValidate(data, folds, options.seed ?? 0, train, (f) => ticker('validate', f, folds)) : undefined;
  const network = toSingle(await train(data, ticker('train')));
  if (typeof validation === 'object' && validation !== null) {
    checkLabels(validation.texts, validation.labels);
    const held = await embedAll(embed, validation.texts, { ...embedding, dim: data.dim });
    const other = toData(held, validation.labels, names, false);
    judged = { logits: logitsOf(network, other.vectors, data.dim), labels: other.labels };
  }
  const temperature = judged && options.calibrate !== false ? findTemperature(judged) : 1;
  const judgement = judged && makeReport(judged, names, temperature, folds);
  const fitted: Fitted = {
    kind: options.kind ?? 'logistic',
    labels: names,
    dim: data.dim,
    network,
    temperature,
    report: judgement,
    embed_options,
  };
  return makeTextClassifier(embed, fitted);
}
