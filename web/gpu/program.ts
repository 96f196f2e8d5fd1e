// A plan on a device: the buffers of its values, and its runs over batches.
import { blocksOf, type Sequences } from './batch.js';
import { Cache } from './cache.js';
import type { Device } from './device.js';
import type { Plan, Use } from './plan.js';
import { rowsOf } from './shaders/decode.js';
import { kTile } from './shaders/product.js';
import * as rows from './shaders/rows.js';
import { kFew, kindOf, kThreads, Steps, type Counts, type Dispatch, type Groups, type Kind, type Place } from './steps.js';
import type { Call } from './weights.js';

/** Most bytes of values. */
const kMostValues = 256 << 20;
export const kMostTokens = 8192;
/** The same with a cache. */
const kMostTogether = 512;
/** The values of a section that outlast the step that writes them share buffers: for each value the number of one. */
function placesIn({ values, steps }: Use): number[] {
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
  /** Where sequences go on; undefined: they do not. */
  readonly cache: Cache | undefined;
  /** Those of each use. */
  private readonly dispatches: Dispatch[][] = [];
  /** Those of the head over the vocabulary, with a cache; of at most kFew rows. */
  private head: { all: Dispatch[]; counts: GPUBuffer; rows: GPUBuffer; wanted: GPUBuffer; logits: GPUBuffer } | undefined;
  /** What each use reads, and the result of the last one. */
  private readonly streams: GPUBuffer[] = [];
  private readonly steps: Steps;
  private readonly pools = new Map<string, Promise<{ dispatch: Dispatch; out: GPUBuffer }>>();
  private readonly counts: GPUBuffer;
  private readonly starts: GPUBuffer;
  private readonly skip: GPUBuffer;

  private constructor(
    private readonly device: Device,
    private readonly plan: Plan,
    call: Call,
    /** Most tokens of a batch. */
    readonly budget: number,
    cached: boolean,
    halves: boolean,
  ) {
    this.counts = device.uniform(16);
    this.starts = device.storage(4 * (budget + 1));
    this.skip = device.storage(4 * budget);
    if (cached) this.cache = new Cache(device, plan);
    this.cache?.reserve(1, 1);
    this.steps = new Steps(device, plan, call, budget, this.cache, halves);
  }

  /** How many products are in f16. */
  get halves(): number {
    return this.steps.halves;
  }

  /** cached: sequences go on in slots, and have logits; halves: products in f16 are wanted. A DeviceError for what the device refuses, an UnsupportedError for weights in a form that it does not read. */
  static async make(device: Device, plan: Plan, call: Call, cached: boolean, halves = false): Promise<Program> {
    const perToken = 4 * Math.max(...plan.uses.map(({ values }) => values.reduce((sum, { width }) => sum + width, 0)), 1);
    const room = Math.floor(kMostValues / perToken / kTile.rows) * kTile.rows;
    const budget = cached
      ? Math.min(kMostTogether, Math.max(room, kTile.rows))
      : Math.min(kMostTokens, Math.max(plan.positions, room));
    return device.checked(async () => {
      const program = new Program(device, plan, call, budget, cached, halves);
      await program.build();
      return program;
    });
  }

  private async build(): Promise<void> {
    const { device, plan, budget, cache, counts } = this;
    const places = plan.uses.map(placesIn);
    const widths: number[] = [];
    plan.uses.forEach((use, u) =>
      use.values.forEach(({ width }, v) => {
        const place = places[u]![v]!;
        if (place >= 0) widths[place] = Math.max(widths[place] ?? 0, width);
      }),
    );
    const arena = widths.map((width) => device.storage(4 * width * budget));
    const streams = [0, 1].map(() => device.storage(4 * plan.hidden * budget));
    const making: Promise<Dispatch>[][] = [];
    let current = 0;
    plan.uses.forEach((use, u) => {
      const result = resultOf(use);
      const of = (v: number) => (v === 0 ? streams[current]! : v === result ? streams[1 - current]! : arena[places[u]![v]!]!);
      this.streams.push(streams[current]!);
      const place = { use, of, counts, layer: cache?.of(u), kinds: (cache ? ['one', 'few', 'many'] : ['many']) as Kind[] };
      making.push(use.steps.flatMap((step) => this.steps.step(place, step)));
      if (result >= 0) current = 1 - current;
    });
    this.streams.push(streams[current]!);
    this.dispatches.push(...(await Promise.all(making.map((use) => Promise.all(use)))));
    if (cache) await this.buildHead();
  }

  private async buildHead(): Promise<void> {
    const { device, plan } = this;
    const use = plan.head!;
    const values = use.values.map(({ width }) => device.storage(4 * kFew * (width || plan.hidden)));
    const counts = device.uniform(16);
    const wanted = device.storage(4 * kFew);
    const place: Place = { use, of: (v) => values[v]!, counts, layer: undefined, kinds: ['one', 'few'] };
    const gathering = this.steps.dispatch(place, rowsOf(plan.hidden), [this.streams.at(-1), wanted, values[0]], ({ tokens }) => [
      Math.ceil(plan.hidden / kThreads),
      tokens,
    ]);
    const all = await Promise.all([gathering, ...use.steps.flatMap((step) => this.steps.step(place, step))]);
    this.head = { all, counts, rows: values[0]!, wanted, logits: values[use.steps.at(-1)!.out]! };
  }

  private pool(modes: readonly string[]): Promise<{ dispatch: Dispatch; out: GPUBuffer }> {
    const { hidden } = this.plan;
    const key = modes.join();
    let pool = this.pools.get(key);
    if (!pool) {
      const out = this.device.storage(4 * hidden * modes.length * this.budget);
      const buffers = [this.streams.at(-1)!, this.starts, this.skip, out];
      const groups: Groups = ({ sequences }) => [Math.ceil(hidden / kThreads), sequences];
      pool = this.steps
        .dispatch({ counts: this.counts }, rows.pool(hidden, modes), buffers, groups)
        .then((dispatch) => ({ dispatch, out }));
      this.pools.set(key, pool);
    }
    return pool;
  }

  /** Each sequence's vectors, [sequences, modes * hidden]; without modes those of its tokens, [tokens, hidden]. */
  async run(sequences: Sequences, modes: readonly string[]): Promise<Float32Array> {
    const pool = modes.length > 0 ? await this.device.checked(() => this.pool(modes)) : undefined;
    const counts = this.begin(sequences);
    const all = [...this.dispatches.flat(), ...(pool ? [pool.dispatch] : [])];
    if (!pool) return this.read(all, counts, this.streams.at(-1)!, counts.tokens * this.plan.hidden);
    return this.read(all, counts, pool.out, counts.sequences * modes.length * this.plan.hidden);
  }

  /** The states, [tokens, hidden], after the uses [from, to) of the plan over the states that they read. */
  part(sequences: Sequences, from: number, to: number, states?: ArrayLike<number>): Promise<Float32Array> {
    const counts = this.begin(sequences);
    if (states) this.device.write(this.streams[from]!, Float32Array.from(states));
    return this.read(this.dispatches.slice(from, to).flat(), counts, this.streams[to]!, counts.tokens * this.plan.hidden);
  }

  /** With a cache: room for so many slots of so many tokens. */
  async reserve(slots: number, length: number): Promise<void> {
    await this.device.checked(() => {
      if (this.cache!.reserve(slots, length)) for (const rebind of this.steps.rebinds) rebind();
    });
  }

  /** With a cache: reads tokens into their slots. Gives the logits of some of the tokens, [wanted, vocab]; of none it gives one number, once all is done. */
  async extend(sequences: Sequences, wanted: readonly number[]): Promise<Float32Array> {
    const counts = this.begin(sequences);
    const all = this.dispatches.flat();
    if (wanted.length === 0) return this.read(all, counts, this.streams.at(-1)!, 1);
    return this.logits(wanted.length, (begin, end) => {
      this.device.write(this.head!.wanted, Uint32Array.from(wanted.slice(begin, end)));
      return begin === 0 ? { all, counts } : undefined;
    });
  }

  /** The logits, [count, vocab], of the last states of some tokens, [count, hidden]. */
  logitsOf(states: Float32Array, count: number): Promise<Float32Array> {
    return this.logits(count, (begin, end) => {
      const { hidden } = this.plan;
      this.device.write(this.streams.at(-1)!, states.slice(begin * hidden, end * hidden));
      this.device.write(
        this.head!.wanted,
        Uint32Array.from({ length: end - begin }, (_, i) => i),
      );
      return undefined;
    });
  }

  /** before: writes what the head reads for the rows [begin, end), and says what is to run first. */
  private async logits(
    count: number,
    before: (begin: number, end: number) => { all: readonly Dispatch[]; counts: Counts } | undefined,
  ): Promise<Float32Array> {
    const { head, plan } = this;
    const vocab = plan.head!.values[plan.head!.steps.at(-1)!.out]!.width;
    const running: Promise<Float32Array>[] = [];
    for (let begin = 0; begin < count; begin += kFew) {
      const tokens = Math.min(kFew, count - begin);
      const first = before(begin, begin + tokens);
      this.device.write(head!.counts, Uint32Array.of(tokens, 0, 0, 0));
      const own = { tokens, sequences: 0, blocks: 0 };
      running.push(
        this.device.read(
          (pass) => {
            if (first) this.record(pass, first.all, first.counts);
            this.record(pass, head!.all, own);
          },
          head!.logits,
          tokens * vocab,
        ),
      );
    }
    const parts = await Promise.all(running);
    if (parts.length === 1) return parts[0]!;
    const out = new Float32Array(count * vocab);
    parts.forEach((part, i) => out.set(part, i * kFew * vocab));
    return out;
  }

  /** Writes what all dispatches of a batch read. */
  private begin(sequences: Sequences): Counts {
    const { device } = this;
    const { starts } = sequences;
    const blocks = blocksOf(sequences, this.cache?.length ?? 0);
    const counts = { tokens: sequences.ids.length, sequences: starts.length - 1, blocks: blocks.length / 8 };
    device.write(this.counts, Uint32Array.of(counts.tokens, counts.sequences, counts.blocks, 0));
    device.write(this.steps.blocks, blocks);
    device.write(this.starts, Uint32Array.from(starts));
    device.write(this.skip, Uint32Array.from(sequences.skip));
    for (const { buffer, of } of this.steps.inputs.values()) device.write(buffer, of(sequences));
    return counts;
  }

  private record(pass: GPUComputePassEncoder, dispatches: readonly Dispatch[], counts: Counts): void {
    const kind = this.cache ? kindOf(counts.tokens) : 'many';
    for (const { pipeline, bindings, groups, kinds } of dispatches) {
      if (kinds && !kinds.includes(kind)) continue;
      pass.setPipeline(pipeline);
      pass.setBindGroup(0, bindings);
      pass.dispatchWorkgroups(...groups(counts));
    }
  }

  private read(dispatches: readonly Dispatch[], counts: Counts, from: GPUBuffer, floats: number): Promise<Float32Array> {
    return this.device.read((pass) => this.record(pass, dispatches, counts), from, floats);
  }
}
