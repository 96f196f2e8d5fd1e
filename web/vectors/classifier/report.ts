// Evaluates a classifier on held-out examples, and calibrates its scores.
import { argmax, softmax } from '../../core/scores.js';
import type { ClassifierReport } from '../classifier_types.js';

/** Logits [count, labels] with the correct labels. */
export interface Judged {
  logits: Float64Array;
  labels: Int32Array;
}

const rowsOf = ({ logits, labels }: Judged) => {
  const width = logits.length / Math.max(labels.length, 1);
  return Array.from(labels, (_, i) => logits.subarray(i * width, (i + 1) * width));
};

const kMost = 50;

/**
 * The temperature, by which logits are divided, that maximises the likelihood of the labels (Guo et al., arXiv 1706.04599), found by a
 * golden-section search over its logarithm in [1/50, 50]. Each of n examples counts as wrong with weight 1 / (n + 2) (Laplace's rule of
 * succession, as in Platt 1999); otherwise a few correct examples would make every score certain. Returns 1 if no temperature is better
 * than 1, or if the best one is at the upper limit.
 */
export function findTemperature(judged: Judged): number {
  const rows = rowsOf(judged);
  const doubt = 1 / (rows.length + 2);
  const loss = (logT: number) => {
    const scale = Math.exp(-logT);
    return rows.reduce((sum, row, i) => {
      const most = row.reduce((a, b) => Math.max(a, b));
      const logOfSum = Math.log(row.reduce((all, z) => all + Math.exp((z - most) * scale), 0));
      const right = row[judged.labels[i] as number] as number;
      const meanWrong = (row.reduce((all, z) => all + z, 0) - right) / (row.length - 1);
      return sum + logOfSum - ((1 - doubt) * right + doubt * meanWrong - most) * scale;
    }, 0);
  };
  const ratio = (Math.sqrt(5) - 1) / 2;
  let [low, high] = [-Math.log(kMost), Math.log(kMost)];
  let [a, b] = [high - ratio * (high - low), low + ratio * (high - low)];
  let [lossA, lossB] = [loss(a), loss(b)];
  while (high - low > 1e-6) {
    if (lossA <= lossB) {
      [high, b, lossB] = [b, a, lossA];
      a = high - ratio * (high - low);
      lossA = loss(a);
    } else {
      [low, a, lossA] = [a, b, lossB];
      b = low + ratio * (high - low);
      lossB = loss(b);
    }
  }
  const best = (low + high) / 2;
  return high < Math.log(kMost) && loss(best) < loss(0) ? Math.exp(best) : 1;
}

/** Expected calibration error: the mean gap between confidence and accuracy over ten bins. */
function calibrationError(confidence: readonly number[], right: readonly boolean[]): number {
  const bins = Array.from({ length: 10 }, () => ({ confidence: 0, right: 0 }));
  confidence.forEach((score, i) => {
    const bin = bins[Math.min(9, Math.floor(score * 10))] as (typeof bins)[number];
    bin.confidence += score;
    bin.right += right[i] ? 1 : 0;
  });
  const gaps = bins.reduce((sum, bin) => sum + Math.abs(bin.confidence - bin.right), 0);
  return gaps / Math.max(confidence.length, 1);
}

export function makeReport(judged: Judged, names: readonly string[], temperature: number, folds: number): ClassifierReport {
  const confusion = names.map(() => names.map(() => 0));
  const scores = rowsOf(judged).map((row) => softmax(row.map((z) => z / temperature)));
  const guesses = scores.map(argmax);
  let loss = 0;
  judged.labels.forEach((label, i) => {
    (confusion[label] as number[])[guesses[i] as number]! += 1;
    loss -= Math.log(Math.max(scores[i]?.[label] as number, 1e-300));
  });
  const count = judged.labels.length;
  const labels = names.map((label, j) => {
    const hits = confusion[j]?.[j] as number;
    const support = (confusion[j] as number[]).reduce((sum, n) => sum + n, 0);
    const guessed = confusion.reduce((sum, row) => sum + (row[j] as number), 0);
    const [precision, recall] = [guessed > 0 ? hits / guessed : 0, support > 0 ? hits / support : 0];
    const f1 = precision + recall > 0 ? (2 * precision * recall) / (precision + recall) : 0;
    return { label, precision, recall, f1, support };
  });
  return {
    folds,
    examples: count,
    accuracy: guesses.filter((guess, i) => guess === judged.labels[i]).length / Math.max(count, 1),
    macro_f1: labels.reduce((sum, { f1 }) => sum + f1, 0) / names.length,
    log_loss: loss / Math.max(count, 1),
    calibration_error: calibrationError(
      scores.map((row, i) => row[guesses[i] as number] as number),
      guesses.map((guess, i) => guess === judged.labels[i]),
    ),
    labels,
    confusion,
  };
}
