// Derivatives of a metric that is known by name: those of its outputs here, the way back to the embeddings in WebAssembly.
import { UnsupportedError } from '../../core/errors.js';
import { Tensor } from '../../core/tensor.js';
import type { AnyEngine } from '../../engine/engine.js';
import { reload } from '../../engine/load_engine.js';
import { disposeWith, engineOf } from '../../engine/loaded.js';
import { toInputs } from '../../engine/model_inputs.js';
import type { Model } from '../../tasks/embed_types.js';
import { packRuns, type Run } from '../../tasks/forward.js';
import type { GradientItem, OutputGradient } from '../../tasks/input_gradient.js';
import type { Differentiated, Slopes } from './differences.js';
import { copiesOf, kEmbeddings, runOne, type OneText } from './measure.js';

const learners = new WeakMap<AnyEngine, Promise<AnyEngine | undefined>>();

/** Those that have given a gradient: no other can be sure that its model learns. */
const proven = new WeakSet<AnyEngine>();

/** The model of an engine with the WebAssembly that trains. */
function learnerOf(engine: AnyEngine): Promise<AnyEngine | undefined> {
  let learner = learners.get(engine);
  if (!learner) {
    const changes = { dtype: 'f32', adapted_base: { full: true }, progress_callback: undefined, signal: undefined };
    learner = reload(engine, changes).then((loaded) => {
      if (loaded) disposeWith(engine, loaded);
      return loaded;
    });
    learners.set(engine, learner);
    learner.catch(() => learners.delete(engine)); // so that the next call tries again
  }
  return learner;
}

/** undefined: only differences can be taken. */
export async function exactSlopes(
  model: Model,
  text: OneText,
  { width, metric, options }: Differentiated,
): Promise<Slopes | undefined> {
  const engine = engineOf(model);
  const { gradient } = metric;
  if (!gradient || !engine || engine.info.max_source_length !== undefined || engine.adapters?.active) return undefined;
  const learner = await learnerOf(engine);
  if (!learner) return undefined;
  const columns = [...text.mask.keys()].filter((column) => text.mask[column] === 1);
  const pack = (rows: Float32Array) => {
    const out = new Float32Array(rows.length && columns.length * width);
    if (rows.length > 0) columns.forEach((column, i) => out.set(rows.subarray(column * width, (column + 1) * width), i * width));
    return out;
  };
  const isCausal = engine.info.head === 'causal_lm';
  const [run] = packRuns(toInputs(copiesOf(text, 1)), isCausal ? 0 : engine.info.token_budget, []) as [Run];
  const gradientAt = async (at: Float32Array, given: OutputGradient): Promise<Float32Array> => {
    const token = Math.max(0, columns.indexOf(given.token));
    const item: GradientItem = { ...run, embeddings: pack(at), hidden: pack(given.hidden), logits: given.logits, token };
    return (await learner.run('input_gradient', [item], {}, options.signal ?? undefined))[0] as Float32Array;
  };
  const slopes: Slopes = async (at, along) => {
    const patch = { [kEmbeddings]: new Tensor('float32', at, [1, text.seq, width]) };
    const found = await gradientAt(at, gradient(await runOne(model, text, { ...options, patch }), text));
    const out = new Float64Array(text.seq);
    columns.forEach((column, i) => {
      for (let k = 0; k < width; ++k) out[column]! += (found[i * width + k] as number) * (along[column * width + k] as number);
    });
    return out;
  };
  if (proven.has(learner)) return slopes;
  try {
    const nothing = new Float32Array(text.seq * width);
    await gradientAt(nothing, { hidden: nothing, logits: new Float32Array(), token: 0 });
  } catch (error) {
    if (error instanceof UnsupportedError) return undefined;
    throw error;
  }
  proven.add(learner);
  return slopes;
}
