// Shows that a device computes what the processor does. Each part of the plan reads the processor's own states, so that nothing but that part can differ; then
// the whole pass runs, and then each kind of pooling. What is wrong is a DeviceError.
import type { DeviceBatchAnswer, PoolingMode } from '../host/seam.js';
import { positionsOf, windowsOf, type Sequences } from './batch.js';
import { DeviceError } from './device.js';
import { fewSteps, roundingsOf, roundingsOfHalves, roundingsOfSums, stepsOf, type Plan, type Use } from './plan.js';
import { kMostTokens, type Program } from './program.js';
import type { Call } from './weights.js';

/** Texts with several lengths, around the sizes of tiles and of the blocks that queries form. */
export const kProbes = [1, 30, 45].map((words) =>
  'the river bends west of an old stone mill '.repeat(9).split(' ').slice(0, words).join(' '),
);

/** Tokens of probes that are ids. */
const kLengths = [1, 32, 45];

/** For each row of a and b, [rows, width], the length of their difference over the length of b's. */
export function distances(a: Float32Array, b: ArrayLike<number>, width: number): number[] {
  return Array.from({ length: b.length / width }, (_, row) => {
    let difference = 0;
    let length = 0;
    for (let i = row * width; i < (row + 1) * width; ++i) {
      difference += (a[i]! - b[i]!) ** 2;
      length += b[i]! ** 2;
    }
    const distance = Math.sqrt(difference / Math.max(length, Number.MIN_VALUE));
    return Number.isNaN(distance) ? Infinity : distance;
  });
}

const mean = (values: readonly number[]) => Math.sqrt(values.reduce((sum, value) => sum + value * value, 0) / values.length);
/** A quarter of the values are no larger. */
const quartile = (values: readonly number[]) => [...values].sort((a, b) => a - b)[values.length >> 2]!;

function check(what: string, distance: number, bound: number): void {
  if (distance <= bound) return;
  const [off, most] = [distance, bound].map((share) => share.toPrecision(2));
  throw new DeviceError(`this device's ${what} are off by ${off} of their length, where ${most} is the bound`);
}

/** states with each number moved by up to half a step of q8, as the rounding of one product's activations moves it. The same at each run. */
function jittered(states: Float32Array, width: number): Float32Array {
  const out = Float32Array.from(states);
  let random = 1;
  for (let row = 0; row < out.length; row += width) {
    for (let begin = 0; begin < width; begin += 64) {
      const group = out.subarray(row + begin, row + Math.min(begin + 64, width));
      const step = (Math.max(0, ...group) - Math.min(0, ...group)) / 192;
      for (let i = 0; i < group.length; ++i) {
        random = (Math.imul(random, 1664525) + 1013904223) >>> 0;
        group[i]! += step * (random / 2 ** 32 - 0.5);
      }
    }
  }
  return out;
}

/** A job over texts, of which nothing has run, and its windows. */
export function beginProbe(call: Call, texts: readonly string[]): { job: number; batch: DeviceBatchAnswer } {
  const { job } = call((handle) => handle.embed(texts, { pooling: [], prompt: '' }, 0, 0));
  return { job, batch: call((handle) => handle.device_batch(job, kMostTokens)) };
}

/** Ids of a vocabulary, for models that read no texts. */
export const idsOf = (vocab: number, count: number): Int32Array =>
  Int32Array.from({ length: count }, (_, i) => (3 * i * i + 7 * i + 11) % vocab);

/** Sequences with the lengths of the probe texts. */
export function probesOf(vocab: number, { positions }: Plan): Sequences {
  const starts = Int32Array.of(0, ...kLengths.map((length) => Math.min(length, positions)));
  for (let i = 1; i < starts.length; ++i) starts[i]! += starts[i - 1]!;
  const ids = idsOf(vocab, starts[kLengths.length]!);
  return { ids, typeIds: new Int32Array(ids.length), starts, skip: new Int32Array(kLengths.length) };
}

/** The probe texts as tokens. */
function probes(call: Call): Sequences {
  const { job, batch } = beginProbe(call, kProbes);
  call((handle) => handle.cancel(job));
  return windowsOf({ ...batch, skip: new Int32Array(kProbes.length) }, 0, kProbes.length);
}

export interface Proof {
  /** The root of the mean square of the rows' distances. */
  distance: number;
  bound: number;
}

/** What the processor computes of probe texts. */
export interface Reference {
  sequences: Sequences;
  /** After the embeddings and each layer, the last after the final norm too: [tokens, hidden]. */
  states: readonly Float32Array[];
  right: Float32Array;
  /** In q8: `right` of embeddings that were moved by half a step at most. */
  moved: Float32Array | undefined;
}

/** Runs a pass over sequences on the processor. */
export function referenceOf(plan: Plan, q8: boolean, call: Call, sequences = probes(call)): Reference {
  const positions = positionsOf({ ...sequences, slots: undefined });
  const { ids, typeIds, starts } = sequences;
  const pass = (taps: string[], values: Float32Array[]) =>
    call((handle) =>
      handle.forward(ids, typeIds, positions, starts, null, null, null, null, taps, values, { hidden_states: true, logits: false }),
    );
  const answer = pass([], []);
  const states = answer.hidden_states!;
  const moved = q8 ? pass(['embeddings.output'], [jittered(states[0]!, plan.hidden)]).last_hidden_state : undefined;
  return { sequences, states, right: answer.last_hidden_state, moved };
}

/** A part of the plan: the uses [from, to), which end with the states of that number. The last layer and the final norm are one part. */
export interface Part {
  from: number;
  to: number;
  name: string;
}
export const partsOf = ({ uses }: Plan, { states }: Reference): Part[] =>
  states.map((_, from) => ({
    from,
    to: from + 1 < states.length ? from + 1 : uses.length,
    name: from === 0 ? 'embeddings' : `states of layer ${from - 1}`,
  }));

/**
 * In f32 no row of any part may be farther from the processor's than the roundings of that part's sums explain (`roundingsOf`). In q8 whole numbers are exact, and
 * few activations lie so near to the middle of two steps that a rounding of f32 moves one to the next. A row with such activations may differ by the steps of the
 * part (`stepsOf`), and rows that attend to it by little (`fewSteps`). So a quarter of the rows must be within that. halves: products are in f16.
 */
export function checkPart(
  name: string,
  rows: readonly number[],
  plan: Plan,
  uses: readonly Use[],
  q8: boolean,
  halves = false,
): void {
  const roundings = roundingsOf(plan, uses) + (halves ? roundingsOfHalves(uses) : 0);
  if (q8) check(name, quartile(rows), roundings + fewSteps(plan.hidden));
  check(name, Math.max(...rows), roundings + (q8 ? stepsOf(uses) : 0));
}

/**
 * The whole pass. In q8 those few move more at each layer, until the roundings of both sides are independent. The distance is then that of two independent roundings,
 * sqrt(2) times the noise that q8 has of its own. The processor measures that: its pass over embeddings that are moved by half a step at most. The bound is sqrt(2)
 * times what it measures, twice q8's own noise.
 */
export function checkWhole(states: Float32Array, plan: Plan, { right, moved }: Reference, halves = false): Proof {
  const { hidden } = plan;
  const distance = mean(distances(states, right, hidden));
  const noise = moved ? Math.SQRT2 * mean(distances(moved, right, hidden)) : 0;
  const bound = roundingsOf(plan, plan.uses) + noise + (halves ? roundingsOfHalves(plan.uses) : 0);
  check('vectors', distance, bound);
  return { distance, bound };
}

/** Proves all but pooling. */
export async function prove(program: Program, plan: Plan, reference: Reference): Promise<Proof> {
  const { sequences, states, moved } = reference;
  const halves = program.halves > 0;
  for (const { from, to, name } of partsOf(plan, reference)) {
    const rows = distances(await program.part(sequences, from, to, states[from - 1]), states[from]!, plan.hidden);
    checkPart(name, rows, plan, plan.uses.slice(from, to), moved !== undefined, halves);
  }
  return checkWhole(await program.run(sequences, []), plan, reference, halves);
}

/** How a sequence's states [rows, width], without those that are skipped, become a vector (src/ops/pooling.cpp); first: the place of the first row. */
const kPooling: Record<string, (column: readonly number[], first: number) => number> = {
  cls: (column) => column[0]!,
  lasttoken: (column) => column[column.length - 1]!,
  max: (column) => Math.max(...column),
  mean: (column) => column.reduce((sum, value) => sum + value, 0) / column.length,
  mean_sqrt_len_tokens: (column) => column.reduce((sum, value) => sum + value, 0) / Math.sqrt(column.length),
  weightedmean: (column, first) =>
    column.reduce((sum, value, i) => sum + (first + i + 1) * value, 0) / column.reduce((sum, _, i) => sum + first + i + 1, 0),
};

/** Proves kinds of pooling against a slow loop over the device's own states. */
export async function provePooling(program: Program, modes: readonly PoolingMode[], plan: Plan, call: Call): Promise<void> {
  const sequences = probes(call);
  const { starts, skip } = sequences;
  skip.forEach((_, i) => (skip[i] = i)); // as prompts that are left out
  const { hidden } = plan;
  const states = await program.run(sequences, []);
  const right = [...skip].flatMap((first, i) =>
    modes.flatMap((mode) =>
      Array.from({ length: hidden }, (_, column) =>
        kPooling[mode]!(
          Array.from(
            { length: starts[i + 1]! - starts[i]! - first },
            (_, row) => states[(starts[i]! + first + row) * hidden + column]!,
          ),
          first,
        ),
      ),
    ),
  );
  const rows = distances(await program.run(sequences, modes), right, hidden);
  check('pooled vectors', Math.max(...rows), roundingsOfSums(Math.max(...starts)));
}
