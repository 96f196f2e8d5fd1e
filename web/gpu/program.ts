// A plan on a device: the buffers of its values and weights, and a dispatch or two for each step. It knows ops and no models.
import type { DeviceBatchAnswer, SeamModel } from '../host/seam.js';
import { DeviceError, type Device } from './device.js';
import type { Plan, Step, Use } from './plan.js';
import { attention, kQueries } from './shaders/attention.js';
import { kGroup, kTile, product, productQ8, quantize } from './shaders/product.js';
import * as rows from './shaders/rows.js';
import type { Kernel } from './shaders/shader.js';

/** Sequences that lie end to end. */
export interface Sequences {
  ids: Int32Array; // [tokens]
  typeIds: Int32Array; // [tokens]
  starts: Int32Array; // [sequences + 1]
  skip: Int32Array; // [sequences]
}

/** A run of the windows [begin, end). */
export function windowsOf({ ids, type_ids, starts, skip }: DeviceBatchAnswer, begin: number, end: number): Sequences {
  const from = starts[begin]!;
  const to = starts[end]!;
  return {
    ids: ids.subarray(from, to),
    typeIds: type_ids.subarray(from, to),
    starts: starts.subarray(begin, end + 1).map((start) => start - from),
    skip: skip.subarray(begin, end),
  };
}

interface Counts {
  tokens: number;
  sequences: number;
  blocks: number;
}
type Groups = (counts: Counts) => [x: number, y: number];

interface Dispatch {
  pipeline: GPUComputePipeline;
  bindings: GPUBindGroup;
  groups: Groups;
}

interface WeightOnDevice {
  type: string;
  shape: Int32Array;
  epsilon: number;
  parts: Map<string, GPUBuffer>;
}

/** A call of the model's handle, which throws its error. */
export type Call = <A extends { code: number; message: string }>(run: (handle: SeamModel) => A) => A;

/** Bytes of weights that cross at a time, so that no second copy of a matrix is made. */
const kPiece = 1 << 22;
/** Most bytes of values. */
const kMostValues = 256 << 20;
export const kMostTokens = 8192;
/** Threads of the kernels with a thread for each number. */
const kThreads = 64;

/** The positions of tokens, in several forms. padding: as IdsOf::kAfterPadding of src/ops/op.h. */
export function positionsOf({ ids, starts }: Sequences, padding?: number): Uint32Array {
  const out = new Uint32Array(ids.length);
  for (let i = 0; i + 1 < starts.length; ++i) {
    let last = padding ?? -1;
    for (let t = starts[i]!; t < starts[i + 1]!; ++t) out[t] = ids[t] === padding ? padding! : ++last;
  }
  return out;
}

/** The values of a section that outlast the step that writes them share buffers: for each value the number of one. */
function placesOf({ values, steps }: Use): number[] {
  const last = values.map(() => -1);
  steps.forEach(({ x, other }, i) => {
    for (const v of [x, other]) if (v >= 0) last[v] = i;
  });
  const places = values.map(() => -1);
  const free: number[] = [];
  let count = 0;
  steps.forEach(({ x, other, out }, i) => {
    if (out >= 0 && places[out]! < 0) places[out] = free.pop() ?? count++;
    for (const v of new Set([x, other, out])) if (v >= 0 && last[v]! <= i && places[v]! >= 0 && v !== 0) free.push(places[v]!);
  });
  return places;
}

/** The last value of a section that lies in the stream, which the next section reads; -1: none. */
const resultOf = ({ values, steps }: Use) => steps.reduce((last, { out }) => (out > 0 && values[out]!.inStream ? out : last), -1);

export class Program {
  /** Those of each use. */
  private readonly dispatches: Dispatch[][] = [];
  /** What each use reads, and the result of the last one. */
  private readonly streams: GPUBuffer[] = [];
  private readonly weights = new Map<number, WeightOnDevice>();
  private readonly pools = new Map<string, Promise<{ dispatch: Dispatch; out: GPUBuffer }>>();
  private readonly counts: GPUBuffer;
  /** What each batch brings: ids, positions and the like. */
  private readonly inputs = new Map<string, { buffer: GPUBuffer; of: (sequences: Sequences) => Uint32Array }>();
  private readonly blocks: GPUBuffer;
  private readonly starts: GPUBuffer;
  private readonly skip: GPUBuffer;

  private constructor(
    private readonly device: Device,
    private readonly plan: Plan,
    private readonly call: Call,
    /** Most tokens of a batch. */
    readonly budget: number,
  ) {
    this.counts = device.uniform(16);
    this.blocks = device.storage(16 * budget);
    this.starts = device.storage(4 * (budget + 1));
    this.skip = device.storage(4 * budget);
  }

  /** A DeviceError for what the device refuses, an UnsupportedError for weights in a form that it does not read. */
  static async make(device: Device, plan: Plan, call: Call): Promise<Program> {
    const perToken = 4 * Math.max(...plan.uses.map(({ values }) => values.reduce((sum, { width }) => sum + width, 0)), 1);
    const budget = Math.min(kMostTokens, Math.max(plan.positions, Math.floor(kMostValues / perToken / kTile.rows) * kTile.rows));
    return device.checked(async () => {
      const program = new Program(device, plan, call, budget);
      await program.build();
      return program;
    });
  }

  private async build(): Promise<void> {
    const { device, plan, budget } = this;
    const places = plan.uses.map(placesOf);
    const widths: number[] = [];
    plan.uses.forEach((use, u) =>
      use.values.forEach(({ width }, v) => {
        const place = places[u]![v]!;
        if (place >= 0) widths[place] = Math.max(widths[place] ?? 0, width);
      }),
    );
    const arena = widths.map((width) => device.storage(4 * width * budget));
    const streams = [0, 1].map(() => device.storage(4 * plan.hidden * budget));
    const depth = Math.max(
      0,
      ...plan.uses.flatMap(({ steps, values }) => steps.map(({ op, x }) => (op === 'linear' ? values[x]!.width : 0))),
    );
    const groups = Math.ceil(depth / kGroup);
    let quantized: GPUBuffer[] | undefined;
    const forQ8 = () => (quantized ??= [device.storage(groups * kGroup * budget), device.storage(8 * groups * budget)]);
    const making: Promise<Dispatch>[][] = [];
    let current = 0;
    plan.uses.forEach((use, u) => {
      const result = resultOf(use);
      const of = (v: number) => (v === 0 ? streams[current]! : v === result ? streams[1 - current]! : arena[places[u]![v]!]!);
      this.streams.push(streams[current]!);
      making.push(use.steps.flatMap((step) => this.step(use, step, of, forQ8)));
      if (result >= 0) current = 1 - current;
    });
    this.streams.push(streams[current]!);
    this.dispatches.push(...(await Promise.all(making.map((use) => Promise.all(use)))));
  }

  /** The weight that a step reads, streamed to the device. */
  private weight(use: Use, step: Step): WeightOnDevice {
    const number = this.plan.weights[use.firstWeight + step.weight]!;
    let weight = this.weights.get(number);
    if (weight) return weight;
    const { type, shape, epsilon, names, sizes } = this.call((handle) => handle.device_weight(step.number, number));
    weight = { type, shape, epsilon, parts: new Map() };
    names.forEach((name, part) => {
      const size = sizes[part]!;
      const buffer = this.device.storage(size);
      for (let at = 0; at < size; at += kPiece) {
        const { bytes } = this.call((handle) => handle.device_bytes(part, at, Math.min(size, at + kPiece)));
        this.device.write(buffer, bytes, at);
      }
      weight!.parts.set(name, buffer);
    });
    this.weights.set(number, weight);
    return weight;
  }

  private input(name: string, of: (sequences: Sequences) => Uint32Array): GPUBuffer {
    let input = this.inputs.get(name);
    if (!input) this.inputs.set(name, (input = { buffer: this.device.storage(4 * this.budget), of }));
    return input.buffer;
  }

  private async dispatch(kernel: Kernel, buffers: readonly (GPUBuffer | undefined)[], groups: Groups): Promise<Dispatch> {
    const pipeline = await this.device.pipeline(kernel);
    const bound = [this.counts, ...buffers.filter((buffer) => buffer !== undefined)];
    return { pipeline, bindings: this.device.bind(pipeline, bound), groups };
  }

  private step(use: Use, step: Step, of: (value: number) => GPUBuffer, forQ8: () => GPUBuffer[]): Promise<Dispatch>[] {
    const { plan } = this;
    const width = use.values[step.out]!.width;
    const out = of(step.out);
    const x = step.x < 0 ? undefined : of(step.x);
    const other = step.other < 0 ? undefined : of(step.other);
    const weight = step.weight < 0 ? undefined : this.weight(use, step);
    const part = (name: string) => weight?.parts.get(name);
    const perNumber: Groups = ({ tokens }) => [Math.ceil(width / kThreads), tokens];
    const perRow: Groups = ({ tokens }) => [tokens, 1];
    const one = (kernel: Kernel, buffers: readonly (GPUBuffer | undefined)[], groups: Groups = perNumber) => [
      this.dispatch(kernel, buffers, groups),
    ];
    switch (step.op) {
      case 'words': {
        const ids = this.input('words', (batch) => Uint32Array.from(batch.ids));
        return one(rows.words(width, weight!.type), [ids, part('table'), part('scale'), out]);
      }
      case 'add_rows': {
        const { variant, factor } = step;
        const ids = this.input(`${variant} ${factor}`, (batch) =>
          variant === 'token types'
            ? Uint32Array.from(batch.typeIds)
            : positionsOf(batch, variant === 'positions' ? undefined : factor),
        );
        return one(rows.addRows(width, weight!.type), [x, ids, part('table'), part('scale'), out]);
      }
      case 'scale':
        return one(rows.scale(width, step.factor), [x, out]);
      case 'softcap':
        return one(rows.softcap(width, step.factor), [x, out]);
      case 'add':
        return one(rows.add(width, step.factor), [x, other, out]);
      case 'activate':
        return one(rows.activate(width, step.variant), [x, out]);
      case 'gate':
        return one(rows.gate(width, step.variant), [x, out]);
      case 'norm': {
        const rms = step.variant === 'rms';
        const kernel = rows.norm(width, weight!.epsilon, rms, other !== undefined);
        return one(kernel, [x, other, part('gamma'), rms ? undefined : part('beta'), out], perRow);
      }
      case 'head_norm': {
        const { heads, kvHeads, keyWidth } = plan.attentions[step.attention]!;
        const begin = step.variant === 'keys' ? heads * keyWidth : 0;
        const end = begin + (step.variant === 'keys' ? kvHeads : heads) * keyWidth;
        return one(rows.headNorm(width, weight!.shape[0]!, weight!.epsilon, begin, end), [x, part('gamma'), out], perRow);
      }
      case 'rotate': {
        const { heads, kvHeads } = plan.attentions[step.attention]!;
        const [pairs, rest, interleaved] = weight!.shape as unknown as [number, number, number];
        const shape = { width, heads: heads + kvHeads, head: 2 * pairs + rest, pairs, interleaved: interleaved !== 0 };
        const positions = this.input('positions 1', (batch) => positionsOf(batch));
        return one(rows.rotate(shape), [x, positions, part('cos'), part('sin'), out]);
      }
      case 'attention': {
        const constants = plan.attentions[step.attention]!;
        const kernel = attention(constants, use.scoreDivisor, weight?.shape[0]);
        return one(kernel, [x, this.blocks, part('values'), out], ({ blocks }) => [blocks, constants.heads]);
      }
      case 'linear': {
        const k = weight!.shape[1]!;
        const shape = { n: width, k, bias: weight!.parts.has('bias'), activation: step.variant };
        const tiles: Groups = ({ tokens }) => [Math.ceil(width / kTile.columns), Math.ceil(tokens / kTile.rows)];
        if (weight!.type === 'f32') return one(product(shape), [x, part('weight'), part('bias'), out], tiles);
        const [q, qz] = forQ8() as [GPUBuffer, GPUBuffer];
        return [
          this.dispatch(quantize(k), [x, q, qz], ({ tokens }) => [Math.ceil(k / kGroup / 4), tokens]),
          this.dispatch(
            productQ8(shape, this.device.packedDot),
            [q, qz, part('weight'), part('scale'), part('sum'), part('bias'), out],
            tiles,
          ),
        ];
      }
    }
    throw new DeviceError(`the op '${step.op}'`);
  }

  private pool(modes: readonly string[]): Promise<{ dispatch: Dispatch; out: GPUBuffer }> {
    const { hidden } = this.plan;
    const key = modes.join();
    let pool = this.pools.get(key);
    if (!pool) {
      const out = this.device.storage(4 * hidden * modes.length * this.budget);
      const buffers = [this.streams.at(-1)!, this.starts, this.skip, out];
      pool = this.dispatch(rows.pool(hidden, modes), buffers, ({ sequences }) => [Math.ceil(hidden / kThreads), sequences]).then(
        (dispatch) => ({ dispatch, out }),
      );
      this.pools.set(key, pool);
    }
    return pool;
  }

  /** Each sequence's vectors, [sequences, modes * hidden]; without modes those of its tokens, [tokens, hidden]. */
  async run(sequences: Sequences, modes: readonly string[]): Promise<Float32Array> {
    const pool = modes.length > 0 ? await this.device.checked(() => this.pool(modes)) : undefined;
    const counts = this.begin(sequences);
    const all = [...this.dispatches.flat(), ...(pool ? [pool.dispatch] : [])];
    if (!pool) return this.read(all, counts, this.streams.at(-1)!, counts.tokens);
    return this.read(all, counts, pool.out, counts.sequences * modes.length);
  }

  /** The states, [tokens, hidden], after the uses [from, to) of the plan over the states that they read. */
  part(sequences: Sequences, from: number, to: number, states?: ArrayLike<number>): Promise<Float32Array> {
    const counts = this.begin(sequences);
    if (states) this.device.write(this.streams[from]!, Float32Array.from(states));
    return this.read(this.dispatches.slice(from, to).flat(), counts, this.streams[to]!, counts.tokens);
  }

  /** Writes what all dispatches of a batch read. */
  private begin(sequences: Sequences): Counts {
    const { device } = this;
    const { starts } = sequences;
    const blocks: number[] = [];
    for (let i = 0; i + 1 < starts.length; ++i)
      for (let query = starts[i]!; query < starts[i + 1]!; query += kQueries) blocks.push(starts[i]!, starts[i + 1]!, query, 0);
    const counts = { tokens: sequences.ids.length, sequences: starts.length - 1, blocks: blocks.length / 4 };
    device.write(this.counts, Uint32Array.of(counts.tokens, counts.sequences, counts.blocks, 0));
    device.write(this.blocks, Uint32Array.from(blocks));
    device.write(this.starts, Uint32Array.from(starts));
    device.write(this.skip, Uint32Array.from(sequences.skip));
    for (const { buffer, of } of this.inputs.values()) device.write(buffer, of(sequences));
    return counts;
  }

  private read(dispatches: readonly Dispatch[], counts: Counts, from: GPUBuffer, rows: number): Promise<Float32Array> {
    return this.device.read(
      (pass) => {
        for (const { pipeline, bindings, groups } of dispatches) {
          pass.setPipeline(pipeline);
          pass.setBindGroup(0, bindings);
          pass.dispatchWorkgroups(...groups(counts));
        }
      },
      from,
      rows * this.plan.hidden,
    );
  }
}
