// Fits a classifier.
import { plainCallback } from '../../core/callback.js';
import { describe, InputError } from '../../core/errors.js';
import { ownCopy, readOptions, type Rules } from '../../core/options.js';
import { abortable, Breather } from '../../core/signal.js';
import type { ClassifierOptions, ClassifierProgress, Embedder, Examples } from '../classifier_types.js';
import { makeReport, type Judged } from './report.js';
import { calibrate, Logistic } from './logistic.js';
import { kMostSize } from './files.js';
import { trainMlp } from './mlp.js';
import { logitsOf, type Breathe, type Data, type Fitted, type Layer, type Tick } from './network.js';
import { makeRandom, shuffle } from '../../core/random.js';
import { readTexts } from '../../core/texts.js';
import type { NnHost } from '../../host/nn_types.js';
import { makeTextClassifier } from './text_classifier.js';
import { countOf, embedAll, readExamples, type Vectors } from './vectors.js';

const kRules: Rules = {
  kind: ['logistic', 'mlp'],
  C: '(0,Infinity)',
  max_iterations: 'count',
  tolerance: '(0,Infinity)',
  hidden_size: 'count',
  epochs: 'count',
  learning_rate: '(0,Infinity)',
  weight_decay: '[0,Infinity)',
  class_weight: ['balanced'],
  validation: 'any',
  calibrate: 'boolean',
  seed: 'index',
  embed_options: 'any',
  progress_callback: 'function',
  signal: 'signal',
};

const where = 'Classifier.fit';

/** The values of C that are tried: from the middle one on, until the loss rises. */
const kGrid = [1e-4, 3e-4, 1e-3, 3e-3, 0.01, 0.03, 0.1, 0.3, 1, 3, 10, 30, 100, 300, 1e3, 3e3, 1e4];
const kFirst = kGrid.indexOf(10);

const kFolds = 5;
/** By default no more folds are trained than it takes to judge as many examples, which determine C and a temperature well. */
const kEnough = 2000;

/** Examples and their labels, read once. */
function readLabeled(name: string, given: { texts: unknown; labels: unknown }): { texts: Examples; labels: string[] } {
  const texts = readExamples(name, given.texts) as Examples;
  if (!Array.isArray(given.labels))
    throw new InputError(`${name}: labels: expected an array of strings, found ${describe(given.labels)}`);
  const labels = readTexts(`${name}: labels`, given.labels);
  const count = countOf(texts);
  if (count !== labels.length) {
    throw new InputError(`${name}: expected as many labels as texts, found ${labels.length} labels and ${count} texts`);
  }
  return { texts, labels };
}

/** Labels as numbers: their indices in names. */
function toNumbers(labels: readonly string[], names: readonly string[]): Int32Array {
  const numbers = new Map(names.map((name, i) => [name, i]));
  return Int32Array.from(labels, (label) => {
    const number = numbers.get(label);
    if (number === undefined)
      throw new InputError(`${where}: validation: expected a label of the training examples, found ${describe(label)}`);
    return number;
  });
}

function toData({ data, dim }: Vectors, labels: readonly string[], names: readonly string[], balanced: boolean): Data {
  const numbers = toNumbers(labels, names);
  const counts = new Float64Array(names.length);
  for (const number of numbers) ++counts[number]!;
  const weight = (label: number) => (balanced ? numbers.length / (names.length * (counts[label] as number)) : 1);
  return { vectors: data, dim, labels: numbers, num_labels: names.length, weights: Float64Array.from(numbers, weight) };
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

/** Rounds to f32, the saved precision, so that a loaded classifier has the same bits; an error if training diverged. */
function toSingle(network: Layer[]): Layer[] {
  const out = network.map(({ weight, bias }) => ({ weight: weight.map(Math.fround), bias: bias.map(Math.fround) }));
  const isFinite = out.every(({ weight, bias }) => weight.every(Number.isFinite) && bias.every(Number.isFinite));
  if (!isFinite)
    throw new InputError(`${where}: expected finite weights, found others: the vectors or the learning_rate are too large`);
  return out;
}

/** Logits [count, labels] that can be judged. */
function toJudged(logits: Float32Array, labels: Int32Array): Judged {
  if (!logits.every(Number.isFinite)) throw new InputError(`${where}: the vectors are too large: logits exceed float32`);
  return { logits, labels };
}

/** Trains without the examples of a fold (undefined: with all) and returns the logits of all examples, [count, labels]. */
type TrainFold = (weights: Float64Array, fold: number) => Promise<ArrayLike<number>>;

/** The examples in the first folds, judged by models that were trained without their fold. */
async function crossValidate(data: Data, foldOf: Int32Array, folds: number, train: TrainFold): Promise<Judged> {
  const width = data.num_labels;
  const rows = foldOf.map((_, row) => row).filter((row) => (foldOf[row] as number) < folds);
  const logits = new Float32Array(rows.length * width);
  for (let fold = 0; fold < folds; ++fold) {
    const all = await train(
      data.weights.map((weight, row) => (foldOf[row] === fold ? 0 : weight)),
      fold,
    );
    rows.forEach((row, i) => {
      if (foldOf[row] !== fold) return;
      for (let j = 0; j < width; ++j) logits[i * width + j] = all[row * width + j] as number;
    });
  }
  return toJudged(
    logits,
    rows.map((row) => data.labels[row] as number),
  );
}

/** The number of folds, and how many of them are trained. */
function takeFolds(validation: unknown, labels: readonly string[]): { folds: number; trained: number } {
  const counts = new Map<string, number>();
  for (const label of labels) counts.set(label, (counts.get(label) ?? 0) + 1);
  const most = [...counts.values()].reduce((a, b) => Math.max(a, b), 0); // labels with fewer examples are missing in some folds
  const isHeldOut = typeof validation === 'object' && validation !== null && 'texts' in validation && 'labels' in validation;
  if (validation === undefined || validation === null || isHeldOut) {
    const folds = most < 2 ? 0 : Math.min(kFolds, most);
    return { folds, trained: Math.min(folds, Math.ceil((kEnough * folds) / labels.length)) };
  }
  const given = validation as number;
  if (Number.isInteger(given) && given >= 2 && given <= most) return { folds: given, trained: given };
  const folds = most < 2 ? 'at least two examples of a label for folds' : `from 2 to ${most} folds (no label has more examples)`;
  throw new InputError(`${where}: option 'validation': expected ${folds}, or { texts, labels }, found ${describe(validation)}`);
}

/** Held-out examples, and the numbers of their labels. */
function takeHeldOut(
  given: { texts: unknown; labels: unknown },
  names: readonly string[],
): { texts: Examples; labels: Int32Array } {
  const { texts, labels } = readLabeled(`${where}: option 'validation'`, ownCopy(given));
  if (labels.length === 0) throw new InputError(`${where}: option 'validation': expected at least one text`);
  return { texts, labels: toNumbers(labels, names) };
}

/** How a classifier is trained and judged. */
interface Training {
  options: ClassifierOptions;
  data: Data;
  host: NnHost;
  breathe: Breathe;
  /** The fold of each row in cross-validation; 0 folds: none. */
  foldOf: Int32Array;
  folds: number;
  ticker: (stage: 'validate' | 'train', part?: number, parts?: number) => Tick;
}

/** The result of training on all examples, and of cross-validation where it was needed. */
interface Trained {
  network: Layer[];
  C?: number;
  judged?: Judged | undefined;
}

async function fitMlp({ options, data, breathe, foldOf, folds, ticker }: Training, validates: boolean): Promise<Trained> {
  if ((options.hidden_size ?? 1) > kMostSize)
    throw new InputError(`${where}: option 'hidden_size': expected at most ${kMostSize}, found ${options.hidden_size}`);
  const mlp = {
    hidden_size: options.hidden_size ?? 64,
    epochs: options.epochs ?? 40,
    learning_rate: options.learning_rate ?? 0.003,
    weight_decay: options.weight_decay ?? 1e-4,
    seed: options.seed ?? 0,
  };
  const train: TrainFold = async (weights, fold) =>
    logitsOf(toSingle(await trainMlp(data, weights, mlp, ticker('validate', fold, folds))), data.vectors, data.dim, breathe);
  const judged = validates && folds > 0 ? await crossValidate(data, foldOf, folds, train) : undefined;
  return { network: await trainMlp(data, data.weights, mlp, ticker('train')), judged };
}

async function fitLogistic(training: Training, validates: boolean): Promise<Trained> {
  const { options, data, host, breathe, foldOf, folds, ticker } = training;
  const given = options.C ?? undefined;
  const C = given ?? (kGrid[kFirst] as number);
  const logistic = new Logistic(host, data, {
    max_iterations: options.max_iterations ?? 1000,
    tolerance: options.tolerance ?? 1e-4,
  });
  const least = folds * (given === undefined ? 3 : 1);
  let parts = 0;
  const judge = async (C: number, starts: Float64Array[] = []) => {
    const parameters: Float64Array[] = [];
    const judged = await crossValidate(data, foldOf, folds, async (weights, fold) => {
      const tick = ticker('validate', parts++, Math.max(least, parts));
      parameters.push(await logistic.fit(weights, C, starts[fold] ?? null, tick));
      return logistic.logits(breathe);
    });
    return { C, judged, parameters, loss: (await calibrate(host, judged, breathe)).loss };
  };
  let best: Awaited<ReturnType<typeof judge>> | undefined;
  if (folds > 0 && (validates || given === undefined)) {
    best = await judge(C);
    for (const direction of given === undefined ? [1, -1] : []) {
      for (let at = kFirst + direction; at in kGrid; at += direction) {
        const next = await judge(kGrid[at] as number, best.parameters);
        if (next.loss >= best.loss) break;
        best = next;
      }
      if (best.C !== C) break;
    }
  }
  const chosen = best?.C ?? C;
  const parameters = await logistic.fit(data.weights, chosen, null, ticker('train'));
  return { network: [logistic.toLayer(parameters)], C: chosen, judged: best?.judged };
}

export async function fitClassifier(embed: Embedder, examples: Examples, given: readonly string[], options: ClassifierOptions) {
  options = readOptions(where, options, kRules);
  const { texts, labels } = readLabeled(where, { texts: examples, labels: given });
  const { validation, embed_options } = options;
  const signal = options.signal ?? undefined;
  const { folds, trained } = takeFolds(validation, labels);
  const names = [...new Set(labels)].sort();
  if (names.length < 2) throw new InputError(`${where}: labels: expected at least two different ones, found ${names.length}`);
  const heldOut = typeof validation === 'object' && validation !== null ? takeHeldOut(validation, names) : undefined;
  const breather = new Breather();
  const breathe = () => breather.breathe(signal);
  const report = plainCallback<[ClassifierProgress]>(options.progress_callback);
  const ticker =
    (stage: 'validate' | 'train', part = 0, parts = 1): Tick =>
    async (done, total, loss) => {
      report({ stage, done: part * total + done, total: parts * total, loss });
      await breathe();
    };
  const embedding = { where, embed_options, signal, report };
  const data = toData(await embedAll(embed, texts, embedding), labels, names, options.class_weight === 'balanced');
  const held = heldOut && (await embedAll(embed, heldOut.texts, { ...embedding, dim: data.dim }));
  const { freshHost } = await import('../../host/nn_host.js');
  const host = await abortable(freshHost('this training'), signal);
  try {
    const foldOf = folds > 0 ? dealFolds(data, folds, options.seed ?? 0) : new Int32Array();
    const training = { options, data, host, breathe, foldOf, folds: trained, ticker };
    const isCalibrated = options.calibrate !== false;
    const validates = !held && (isCalibrated || typeof validation === 'number');
    const fitted = await (options.kind === 'mlp' ? fitMlp : fitLogistic)(training, validates);
    const network = toSingle(fitted.network);
    const judged =
      held && heldOut
        ? toJudged(Float32Array.from(await logitsOf(network, held.data, data.dim, breathe)), heldOut.labels)
        : fitted.judged;
    const temperature = judged && isCalibrated ? (await calibrate(host, judged, breathe)).temperature : 1;
    const about: Fitted = {
      kind: options.kind ?? 'logistic',
      labels: names,
      dim: data.dim,
      network,
      C: fitted.C,
      temperature,
      report: judged && (await makeReport(judged, { names, temperature, folds: held ? 0 : trained }, breathe)),
      embed_options,
    };
    return makeTextClassifier(embed, about);
  } finally {
    host.release();
  }
}
