// A loss of one's own: it reads what the model gives as tensors of nn, and its gradient goes back into the model. It runs where it was
// written: with a worker, outputs and their gradient cross as numbers.
import { InputError } from '../core/errors.js';
import { checkAnswer } from '../core/answers.js';
import { Tensor } from '../core/tensor.js';
import type { Tensor as NnTensor } from '../nn/tensor.js';
import type { Judged } from './evaluate.js';
import type { Ask, Rows } from './train_task.js';
import type { SeamOutputs, SeamStep } from './train_files.js';
import type { LossOutputs, OwnLoss, TrainingRow } from './types.js';

/** Rows as the model reads them, and as they were given. */
export interface OwnPart {
  rows: Rows;
  given: readonly TrainingRow[];
}

/** How a model's outputs become tensors. columns: of texts. isHead: whether they are logits. */
export interface OwnKind {
  loss: OwnLoss;
  columns: number;
  isHead: boolean;
}

const what = "Trainer: option 'loss'";
const isScalar = (value: unknown) => (value as NnTensor | null)?.size === 1 && typeof (value as NnTensor).backward === 'function';

/** The loss of a part, and the tensors whose gradients are those of the outputs, in their order. */
async function judged(
  { values, width, labels }: SeamOutputs,
  given: readonly TrainingRow[],
  kind: OwnKind,
  needsGradient: boolean,
) {
  const { ready, tensor } = await import('../nn/nn.js');
  await ready();
  const count = kind.isHead ? 1 : kind.columns;
  const rows = values.length / width / count;
  const leaves = Array.from({ length: count }, (_, column) => {
    const data = values.subarray(column * rows * width, (column + 1) * rows * width);
    return tensor(new Tensor('float32', data, [rows, width]), { requires_grad: needsGradient });
  });
  const outputs: Partial<LossOutputs> = kind.isHead
    ? { logits: leaves[0] as NnTensor, ...(labels.length > 0 && { labels: new Tensor('int32', labels, [rows]) }) }
    : { embeddings: leaves as LossOutputs['embeddings'] };
  const loss = checkAnswer<NnTensor>(
    what,
    await kind.loss(outputs as LossOutputs, [...given]),
    'an nn.Tensor with one number',
    isScalar,
  );
  if (needsGradient && !loss.requires_grad) {
    throw new InputError(`${what}: expected a loss that depends on the outputs, found one without a gradient`);
  }
  return { loss, leaves };
}

/** One update. */
export async function ownStep(ask: Ask, kind: OwnKind, parts: readonly OwnPart[]): Promise<SeamStep> {
  const { shares } = await ask(
    'shares',
    parts.map(({ rows }) => rows),
  );
  try {
    for (const [i, { rows, given }] of parts.entries()) {
      const share = shares[i] as number;
      if (share === 0) continue;
      const outputs = await ask('outputs', { rows, isWhole: parts.length === 1, learns: true });
      const { loss, leaves } = await judged(outputs, given, kind, true);
      // Modules of the caller accumulate gradients with the same share.
      const shared = share === 1 ? loss : loss.mul(share);
      shared.backward();
      const dValues = new Float32Array(outputs.values.length);
      leaves.forEach(({ grad, size }, column) => grad && dValues.set(grad.data, column * size));
      await ask('gradient', { dValues, loss: shared.item() });
    }
    return await ask('update', undefined);
  } catch (error) {
    await ask('drop', undefined);
    throw error;
  }
}

/** Rows in their order, so many at a time. take: those with these indices, as the model reads them. */
export function* ownParts(
  given: readonly TrainingRow[],
  size: number,
  take: (indices: readonly number[]) => Rows,
): Generator<OwnPart> {
  for (let begin = 0; begin < given.length; begin += size) {
    const part = given.slice(begin, begin + size);
    yield { rows: take(part.map((_, i) => begin + i)), given: part };
  }
}

/** A validation set, judged by the loss. */
export async function evaluateOwn(ask: Ask, kind: OwnKind, parts: Iterable<OwnPart>): Promise<Judged> {
  let [sum, count] = [0, 0];
  for (const { rows, given } of parts) {
    const { loss } = await judged(await ask('outputs', { rows, isWhole: false, learns: false }), given, kind, false);
    sum += loss.item() * given.length;
    count += given.length;
  }
  return { score: -sum / count, measures: { loss: sum / count } };
}
