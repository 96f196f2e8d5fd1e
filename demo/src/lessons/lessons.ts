// The experiments of docs/lessons.md, with what happens on the way: each reports points of its curves, and says in words what came out.
// They run beside the page, and in Node, where the tests compare.
import { nn, Tensor } from 'wattn/nn';
import { median } from '../ui/numbers.js';
import type { LessonId } from './list.js';

/** A point of a curve. */
export type Point = [series: string, step: number, value: number];
type Told = (...point: Point) => void;

/** What came out: in words, and some also as a picture of numbers. */
export interface Outcome {
  text: string;
  picture?: { title: string; rows: number; columns: number; values: number[]; names: string[]; columnNames: string[] };
}

const functional = () => nn.functional;
const ints = (numbers: readonly number[], dims: number[]) => new Tensor('int32', [...numbers], dims);
const percent = (share: number) => `${Math.round(100 * share)} %`;

/** The share of places at which two lists agree. */
const shareOfEqual = (found: ArrayLike<number>, expected: ArrayLike<number>) =>
  Array.from(expected, (value, i) => Number(found[i] === value)).reduce((a, b) => a + b, 0) / expected.length;

interface Training {
  model: { parameters(): nn.Tensor[] };
  steps: number;
  lr: number;
  loss: () => nn.Tensor;
  told: (step: number, loss: number) => void;
}

function train({ model, steps, lr, loss, told }: Training): void {
  const optimizer = new nn.optim.Adam(model.parameters(), { lr });
  for (let step = 1; step <= steps; ++step) {
    optimizer.zero_grad();
    const found = loss();
    found.backward();
    optimizer.step();
    told(step, found.item());
  }
}

/** Does word 1 come before word 2? */
function order(told: Told): string {
  const places = [0, 1, 2, 3, 4, 5];
  const pairs = places.flatMap((a) => places.filter((b) => b !== a).map((b) => [a, b] as const));
  const words = pairs.flatMap(([a, b]) => places.map((i) => (i === a ? 1 : i === b ? 2 : 0)));
  const sentences = ints(words, [pairs.length, 6]);
  const labels = ints(pairs.map(([a, b]) => Number(a < b)), [pairs.length]); // prettier-ignore
  const accuracy = (name: string, positions: 'learned' | 'none') => {
    const model = new nn.SequenceClassifier({
      vocab_size: 3,
      d_model: 16,
      nhead: 2,
      num_classes: 2,
      max_len: 6,
      positions,
      seed: 1,
    });
    let last = 0;
    const loss = () => {
      const logits = model.forward(sentences);
      last = shareOfEqual(logits.argmax(1).data as Int32Array, labels.data);
      return functional().cross_entropy(logits, labels);
    };
    train({ model, steps: 60, lr: 0.01, loss, told: (step) => told(name, step, last) });
    nn.no_grad(loss);
    return last;
  };
  const [without, seen] = [accuracy('without positions', 'none'), accuracy('with positions', 'learned')];
  return `With positions, ${percent(seen)} of ${pairs.length} sentences are classified correctly; without them, ${percent(without)}. Attention and pooling alone see a set of words, so the classifier can only guess.`;
}

const kDraws = 21;

/** Why scores are scaled. Medians of some draws, because single ones jump. */
function scaling(told: Told): string {
  const slope = (d: number, scale: number, draw: number) => {
    const query = nn.randn(1, d, { seed: 41 + draw, requires_grad: true });
    const keys = nn.randn(4, d, { seed: 1041 + draw });
    query.matmul(keys.T).mul(scale).softmax(-1).max().backward();
    return Math.hypot(...(query.grad?.data ?? []));
  };
  const typical = (d: number, scale: number) => median(Array.from({ length: kDraws }, (_, draw) => slope(d, scale, draw)));
  let [raw, scaled] = [0, 0];
  for (let power = 0; power <= 10; ++power) {
    const d = 2 ** power;
    told('not scaled', power, (raw = typical(d, 1)));
    told('divided by √d', power, (scaled = typical(d, 1 / Math.sqrt(d))));
  }
  return `With vectors of 1,024 numbers, the gradient is ${raw.toExponential(0).replace('-', '−')}: one key takes all the weight. With scores divided by √1024, it is ${scaled.toFixed(2)}.`;
}

class Sorter extends nn.Module {
  embedding = new nn.Embedding(10, 32);
  places = new nn.PositionalEncoding(32, { kind: 'learned', max_len: 5 });
  encoder = new nn.TransformerEncoder(new nn.TransformerEncoderLayer(32, 4, { dim_feedforward: 64, dropout: 0 }), 2);
  head = new nn.Linear(32, 10);
  override forward(ids: Tensor<'int32'>): nn.Tensor {
    return this.head.forward(this.encoder.forward(this.places.forward(this.embedding.forward(ids))));
  }
}

const rowsOf = (list: readonly number[], count: number) => Array.from({ length: count }, (_, i) => list.slice(5 * i, 5 * i + 5));
const drawDigits = (rows: number) => Array.from(nn.rand(rows, 5).mul(10).data as Float32Array, Math.floor);

function sorting(told: Told): string {
  const draw = (rows: number) => {
    const digits = drawDigits(rows);
    const sorted = rowsOf(digits, rows).flatMap((row) => row.sort((a, b) => a - b));
    return [ints(digits, [rows, 5]), ints(sorted, [rows, 5])] as const;
  };
  nn.manual_seed(3);
  const sorter = new Sorter().train();
  const loss = () => {
    const [digits, sorted] = draw(64);
    return functional().cross_entropy(sorter.forward(digits).transpose(1, 2), sorted);
  };
  train({ model: sorter, steps: 200, lr: 3e-3, loss, told: (step, value) => told('loss', step, value) });
  const [digits, sorted] = draw(200);
  sorter.eval();
  const found = nn.no_grad(() => sorter.forward(digits)).argmax(-1).data;
  const one = Array.from(found).slice(0, 5).join(' ');
  return `Of 1,000 digits in new rows, ${(100 * shareOfEqual(found as Int32Array, sorted.data)).toFixed(1)} % are in the right place: ${Array.from(digits.data).slice(0, 5).join(' ')} becomes ${one}.`;
}

/** A character model that writes. */
function characters(told: Told): string {
  const text = 'the boat sails on the sea and the cook eats bread with salt. ';
  const dictionary = nn.Dictionary.from_corpus(text, { level: 'character' });
  const ids = ints(dictionary.encode(text), [1, text.length]);
  const writer = new nn.LanguageModel({
    vocab_size: dictionary.size,
    d_model: 32,
    nhead: 2,
    max_len: text.length,
    norm_first: true,
    seed: 1,
  });
  const optimizer = new nn.optim.AdamW(writer.parameters(), { lr: 0.01 });
  const [inputs, targets] = [ints(dictionary.encode(text).slice(0, -1), [1, text.length - 1]), ints([...ids.data].slice(1), [1, text.length - 1])]; // prettier-ignore
  for (let step = 1; step <= 60; ++step) {
    optimizer.zero_grad();
    const loss = functional().cross_entropy(writer.forward(inputs).transpose(1, 2), targets);
    loss.backward();
    optimizer.step();
    told('loss', step, loss.item());
  }
  return `“the boat” is continued: “${dictionary.decode(writer.generate(dictionary.encode('the boat'), { max_new_tokens: 25 }))}”.`;
}

/** Reversing, from an encoder to a decoder. */
function reversing(told: Told): Outcome {
  const draw = (rows: number) => {
    const source = drawDigits(rows);
    const target = rowsOf(source, rows).flatMap((row) => [10, ...row.reverse()]);
    const shifted = (from: number) => ints(target.filter((_, i) => i % 6 !== from), [rows, 5]); // prettier-ignore
    return [ints(source, [rows, 5]), shifted(5), shifted(0)] as const;
  };
  nn.manual_seed(1);
  const options = { src_vocab_size: 11, d_model: 32, nhead: 4, num_encoder_layers: 1, num_decoder_layers: 1, max_len: 8 };
  const model = new nn.EncoderDecoder(options);
  const loss = () => {
    const [source, before, after] = draw(32);
    return functional().cross_entropy(model.forward(source, before).transpose(1, 2), after);
  };
  train({ model, steps: 250, lr: 3e-3, loss, told: (step, value) => told('loss', step, value) });
  const digits = [3, 1, 4, 1, 5];
  const [, ...answer] = model.generate(ints(digits, [1, 5]), [10], { max_new_tokens: 5 });
  const [, weights] = model.forward(ints(digits, [1, 5]), ints([10, ...answer.slice(0, 4)], [1, 5]), { need_weights: true });
  const picture = {
    title: 'Cross-attention: digits written, by digits read',
    rows: 5,
    columns: 5,
    values: [...weights.data],
    names: answer.map((digit) => `writes ${digit}`),
    columnNames: digits.map((digit, i) => `reads ${digit} (${i + 1})`),
  };
  const text = `${digits.join(' ')} becomes ${answer.join(' ')}. The decoder sees the digits only through cross-attention.`;
  return { text, picture };
}

/** Batch norm over a mini-batch. */
function batchNorm(told: Told): string {
  const norm = new nn.BatchNorm1d(4, { momentum: 0.1 }).train();
  const batch = (seed: number) => nn.randn(32, 4, { seed }).mul(3).add(5);
  let y = batch(1);
  for (let step = 1; step <= 40; ++step) {
    const x = batch(step);
    y = norm.forward(x);
    told('mean of the mini-batch', step, x.mean(0).data[0] as number);
    told('running mean', step, norm.state_dict().running_mean?.data[0] as number);
  }
  const largest = y.mean(0).abs().max().item();
  const variance = y.var(0, { correction: 0 }).data[0] as number;
  norm.eval();
  const evaluated = norm.forward(batch(41)).mean(0).data[0] as number;
  return `After batch norm, every mini-batch has mean ${largest < 1e-5 ? 0 : largest.toFixed(2)} and variance ${variance.toFixed(2)}. The running mean reached ${(norm.state_dict().running_mean?.data[0] as number).toFixed(2)}; evaluation uses it, so a new batch has a mean of ${evaluated.toFixed(2)}.`;
}

const kRuns: Record<LessonId, (told: Told) => string | Outcome> = { order, scaling, sorting, characters, reversing, batchNorm };

/** Runs an experiment; `told` gets the points of its curves. The answer says what came out. */
export async function runLesson(id: LessonId, told: Told): Promise<Outcome> {
  await nn.ready();
  const outcome = kRuns[id](told);
  return typeof outcome === 'string' ? { text: outcome } : outcome;
}
