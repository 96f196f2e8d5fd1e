// Vectors of texts, in double precision.
import { describe, InputError } from '../../core/errors.js';
import { throwIfAborted } from '../../core/signal.js';
import type { ClassifierOptions, ClassifierProgress, Embedder, Examples } from '../classifier_types.js';
import type { TensorBase } from '../../core/tensor_base.js';
import { readTexts } from '../../core/texts.js';
import type { AbortSignalLike } from '../../core/types.js';

export interface Vectors {
  data: Float64Array; // [count, dim]
  dim: number;
}

export interface EmbedPlan {
  where: string;
  embed_options?: ClassifierOptions['embed_options'];
  signal?: AbortSignalLike | undefined;
  report?: (progress: ClassifierProgress) => void;
  /** The required size of the vectors. */
  dim?: number | undefined;
}

const kTexts = 256; // per call, between reports of progress

const isTensor = (texts: unknown): texts is TensorBase => typeof texts === 'object' && texts !== null && 'dims' in texts;

/** Texts, read once, or a tensor. */
export function readExamples(where: string, texts: unknown): string[] | TensorBase {
  if (isTensor(texts)) return texts;
  if (!Array.isArray(texts)) throw new InputError(`${where}: expected an array of texts or a Tensor, found ${describe(texts)}`);
  return readTexts(where, texts);
}

/** How many there are. */
export const countOf = (examples: readonly string[] | TensorBase): number =>
  isTensor(examples) ? (examples.dims[0] ?? 0) : examples.length;

/** texts: how many vectors are expected. */
function toVectors({ where, dim: wanted }: EmbedPlan, tensor: TensorBase, texts: number): Vectors {
  if (!isTensor(tensor)) throw new InputError(`${where}: expected a Tensor from the embedder, found ${describe(tensor)}`);
  const [count, dim] = tensor.dims;
  if (tensor.dims.length !== 2 || dim === undefined || (wanted !== undefined && dim !== wanted && count !== 0)) {
    const shape = wanted === undefined ? 'texts, dim' : `texts, ${wanted}`;
    throw new InputError(
      `${where}: expected vectors [${shape}], found dims [${tensor.dims}] (set embed_options: { pooling: 'mean' } if the model specifies no pooling)`,
    );
  }
  if (count !== texts) throw new InputError(`${where}: expected ${texts} vectors from the embedder, found ${count}`);
  const data = Float64Array.from(tensor.data as ArrayLike<number>, Number);
  if (!data.every(Number.isFinite)) throw new InputError(`${where}: expected vectors of finite numbers`);
  return { data, dim };
}

export async function embedAll(embed: Embedder, given: Examples, how: EmbedPlan): Promise<Vectors> {
  const texts = readExamples(how.where, given);
  if (isTensor(texts)) return toVectors(how, texts, countOf(texts));
  if (typeof embed !== 'function') throw new InputError(`${how.where}: expected an embedder, found ${describe(embed)}`);
  const parts: Vectors[] = [];
  for (let begin = 0; begin < texts.length || parts.length === 0; begin += kTexts) {
    throwIfAborted(how.signal);
    how.report?.({ stage: 'embed', done: begin, total: texts.length });
    const some = texts.slice(begin, begin + kTexts);
    const tensor = await embed(some, { ...how.embed_options, signal: how.signal });
    parts.push(toVectors({ dim: parts[0]?.dim, ...how }, tensor, some.length));
  }
  const { dim } = parts[0] as Vectors;
  const data = new Float64Array(texts.length * dim);
  parts.forEach((part, i) => data.set(part.data, i * kTexts * dim));
  return { data, dim };
}
