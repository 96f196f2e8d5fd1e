// Vectors of texts, in double precision.
import { describe, InputError } from '../../core/errors.js';
import { throwIfAborted } from '../../core/signal.js';
import type { ClassifierOptions, ClassifierProgress, Embedder, Examples } from '../classifier_types.js';
import { checkTexts } from '../../core/texts.js';
import type { AbortSignalLike } from '../../core/types.js';

export interface Vectors {
  data: Float64Array; // [count, dim]
  dim: number;
}

export interface Embedding {
  where: string;
  embed_options?: ClassifierOptions['embed_options'];
  signal?: AbortSignalLike | undefined;
  report?: (progress: ClassifierProgress) => void;
  /** The required size of the vectors. */
  dim?: number;
}

const kTexts = 256; // per call, between reports of progress

function toVectors({ where, dim: wanted }: Embedding, tensor: { dims: readonly number[]; data: ArrayLike<number> }): Vectors {
  const [, dim] = tensor.dims;
  if (tensor.dims.length !== 2 || dim === undefined || (wanted !== undefined && dim !== wanted && tensor.dims[0] !== 0)) {
    const shape = wanted === undefined ? 'texts, dim' : `texts, ${wanted}`;
    throw new InputError(
      `${where}: expected vectors [${shape}], found dims [${tensor.dims}] (set embed_options: { pooling: 'mean' } if the model specifies no pooling)`,
    );
  }
  const data = Float64Array.from(tensor.data);
  if (!data.every(Number.isFinite)) throw new InputError(`${where}: expected vectors of finite numbers`);
  return { data, dim };
}

export async function embedAll(embed: Embedder, texts: Examples, how: Embedding): Promise<Vectors> {
  if (typeof texts === 'object' && texts !== null && 'dims' in texts) return toVectors(how, texts);
  checkTexts(how.where, texts);
  if (typeof embed !== 'function') throw new InputError(`${how.where}: expected an embedder, found ${describe(embed)}`);
  const parts: Vectors[] = [];
  for (let begin = 0; begin < texts.length || parts.length === 0; begin += kTexts) {
    throwIfAborted(how.signal);
    how.report?.({ stage: 'embed', done: begin, total: texts.length });
    parts.push(toVectors(how, await embed(texts.slice(begin, begin + kTexts), { ...how.embed_options, signal: how.signal })));
  }
  const { dim } = parts[0] as Vectors;
  const data = new Float64Array(texts.length * dim);
  parts.forEach((part, i) => data.set(part.data, i * kTexts * dim));
  return { data, dim };
}
