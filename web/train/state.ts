// The state of a run, as bytes: a safetensors file with its own hash. What it is made of says of which rows, options and model it is, so that
// another run does not go on from it.
import { ModelFormatError, UnsupportedError } from '../core/errors.js';
import { parseJson } from '../core/json.js';
import { Tensor } from '../core/tensor.js';
import { loadTensors } from '../source/safetensors.js';
import { checkSealed, saveSealed } from '../source/sealed.js';
import { Sha256 } from '../source/sha256.js';

/** What a run is made of. Rows and model: hashes. model is empty in a state of version 1, whose hash followed a layout that is no more. */
export interface MadeOf {
  rows: string;
  validation: string;
  model: string;
  options: Record<string, unknown>;
}

/** The best of the evaluations so far, and how many came after it. */
export interface Best {
  score: number;
  state: Float32Array;
  step: number;
  stale: number;
}

/** A run that stopped. steps: those done, and all. */
export interface Stopped {
  state: Float32Array;
  steps: readonly [number, number];
  madeOf: MadeOf;
  best: Best | undefined;
}

const kVersionName = 'wattn_training_state';
/** Version 1 has neither metadata nor a hash. */
const kVersion = 2;

const floats = (values: Float32Array) => new Tensor('float32', values, [values.length]);
const integers = (values: Int32Array) => new Tensor('int32', values, [values.length]);

export function writeState({ state, steps, madeOf, best }: Stopped): Promise<Uint8Array> {
  const made_of = new TextEncoder().encode(JSON.stringify(madeOf));
  const tensors = {
    state: floats(state),
    steps: integers(Int32Array.from(steps)),
    made_of: new Tensor('uint8', made_of, [made_of.length]),
    ...(best && {
      best_state: floats(best.state),
      best_steps: integers(Int32Array.of(best.step, best.stale)),
      best_score: integers(new Int32Array(Float64Array.of(best.score).buffer)), // both halves: the score keeps its bits
    }),
  };
  return saveSealed(tensors, { [kVersionName]: String(kVersion) });
}

/** A ModelFormatError: it is damaged, or another file; an UnsupportedError: of a newer version. where: for messages. */
export async function readState(bytes: Uint8Array, where: string): Promise<Stopped> {
  const wrong = (found: string) =>
    new ModelFormatError(`${where}: expected bytes from trainer.state(), found ${found}: it is damaged, or another file`);
  if (!ArrayBuffer.isView(bytes)) throw wrong('no bytes');
  const metadata = await checkSealed(bytes, where);
  const version = Number(metadata?.[kVersionName] ?? 1);
  if (version > kVersion)
    throw new UnsupportedError(`${where}: expected a state of version ${kVersion} or before, found ${version}`);
  if (metadata && version !== kVersion) throw wrong('the hash of another file');
  if (!metadata && new TextDecoder().decode(bytes.slice(8, 24)).startsWith('{"__metadata__"')) throw wrong('no hash');
  const tensors = loadTensors(bytes, where);
  const take = <T extends Float32Array | Int32Array | Uint8Array>(name: string, type: string, length?: number): T => {
    const tensor = Object.hasOwn(tensors, name) ? tensors[name] : undefined;
    if (tensor?.type === type && (length === undefined || tensor.data.length === length)) return tensor.data as T;
    throw wrong(tensor ? `${tensor.type} [${tensor.dims}] as '${name}'` : `no '${name}'`);
  };
  let madeOf: MadeOf;
  try {
    madeOf = parseJson(new TextDecoder().decode(take<Uint8Array>('made_of', 'uint8'))) as MadeOf;
  } catch (cause) {
    throw cause instanceof ModelFormatError ? cause : wrong("other text than JSON as 'made_of'");
  }
  if (typeof madeOf?.options !== 'object' || madeOf.options === null) throw wrong("another object as 'made_of'");
  if (version === 1) madeOf.model = '';
  const [step, all] = take<Int32Array>('steps', 'int32', 2);
  if (!((step as number) >= 0 && (step as number) <= (all as number))) throw wrong(`step ${step} of ${all}`);
  const state = take<Float32Array>('state', 'float32');
  const stopped: Stopped = { state, steps: [step as number, all as number], madeOf, best: undefined };
  if (!('best_state' in tensors)) return stopped;
  const [bestStep, stale] = take<Int32Array>('best_steps', 'int32', 2);
  const [score] = new Float64Array(Int32Array.from(take<Int32Array>('best_score', 'int32', 2)).buffer);
  const best = { state: take<Float32Array>('best_state', 'float32'), step: bestStep as number, stale: stale as number };
  return { ...stopped, best: { ...best, score: score as number } };
}

/** The SHA-256 of a value as JSON. */
export function hashOf(value: unknown): string {
  const hash = new Sha256();
  hash.update(new TextEncoder().encode(JSON.stringify(value)));
  return hash.hex();
}

/** What differs between a run that stopped and this one; undefined: nothing. */
export function difference(before: MadeOf, now: MadeOf): string | undefined {
  if (before.model && before.model !== now.model) return "the model's weights differ";
  if (before.rows !== now.rows) return 'the training rows differ';
  if (before.validation !== now.validation) return 'the validation rows differ';
  const show = (value: unknown) => (value === undefined ? 'none' : JSON.stringify(value));
  const names = new Set([...Object.keys(now.options), ...Object.keys(before.options)]);
  const differs = [...names].find((name) => show(before.options[name]) !== show(now.options[name]));
  return differs && `${differs} was ${show(before.options[differs])} and is ${show(now.options[differs])}`;
}
