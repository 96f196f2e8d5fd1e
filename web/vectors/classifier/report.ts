// Evaluates a classifier on held-out examples.
import { argmax, softmax } from '../../core/scores.js';
import type { ClassifierReport } from '../classifier_types.js';
import { kRows, type Breathe } from './network.js';

/** Logits [count, labels] with the correct labels. */
export interface Judged {
  logits: Float32Array;
  labels: Int32Array;
}

/** Expected calibration error: the mean gap between confidence and accuracy over ten bins. */
function calibrationError(confidence: Float64Array, right: readonly boolean[]): number {
  const bins = Array.from({ length: 10 }, () => ({ confidence: 0, right: 0 }));
  confidence.forEach((score, i) => {
    const bin = bins[Math.min(9, Math.floor(score * 10))] as (typeof bins)[number];
    bin.confidence += score;
    bin.right += right[i] ? 1 : 0;
  });
  const gaps = bins.reduce((sum, bin) => sum + Math.abs(bin.confidence - bin.right), 0);
  return gaps / confidence.length;
}

export async function makeReport(
  { logits, labels: correct }: Judged,
  { names, temperature, folds }: { names: readonly string[]; temperature: number; folds: number },
  breathe: Breathe,
): Promise<ClassifierReport> {
  const confusion = names.map(() => names.map(() => 0));
  const count = correct.length;
  const confidence = new Float64Array(count);
  const right: boolean[] = [];
  let loss = 0;
  for (let i = 0; i < count; ++i) {
    const row = Float64Array.from(logits.subarray(i * names.length, (i + 1) * names.length), (z) => z / temperature);
    const scores = softmax(row);
    const [label, guess] = [correct[i] as number, argmax(scores)];
    (confusion[label] as number[])[guess]! += 1;
    loss -= Math.log(Math.max(scores[label] as number, 1e-300));
    confidence[i] = scores[guess] as number;
    right.push(guess === label);
    if ((i + 1) % kRows === 0) await breathe();
  }
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
    accuracy: right.filter(Boolean).length / count,
    macro_f1: labels.reduce((sum, { f1 }) => sum + f1, 0) / names.length,
    log_loss: loss / count,
    calibration_error: calibrationError(confidence, right),
    labels,
    confusion,
  };
}
