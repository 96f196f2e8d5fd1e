// What runs the steps of a plan: a dispatch or some for each, of a kernel over buffers. It knows ops and no models.
import { placesOf, positionsOf, type Sequences } from './batch.js';
import type { Cache, Layer } from './cache.js';
import { DeviceError, type Device } from './device.js';
import type { Plan, Step, Use } from './plan.js';
import { attention, attentionOfOne } from './shaders/attention.js';
import { productOfFew, productWholeOfFew, store } from './shaders/decode.js';
import {
  kGroup,
  kTile,
  halve,
  product,
  productHalves,
  productWhole,
  quantize,
  type Floats,
  type Whole,
} from './shaders/product.js';
import * as rows from './shaders/rows.js';
import type { Kernel } from './shaders/shader.js';
import { Weights, type Call } from './weights.js';

export interface Counts {
  tokens: number;
  sequences: number;
  blocks: number;
}
export type Groups = (counts: Counts) => [x: number, y: number];

/** How many tokens a batch with a cache has, as kernels differ; the result does not. A batch without one has many. */
export type Kind = 'one' | 'few' | 'many';
/** Tokens of a batch with few. */
export const kFew = 8;
/** Rows that a workgroup of a product for few computes. */
const kRowsOfFew = 4;
export const kindOf = (tokens: number): Kind => (tokens === 1 ? 'one' : tokens <= kFew ? 'few' : 'many');

export interface Dispatch {
  pipeline: GPUComputePipeline;
  bindings: GPUBindGroup;
  groups: Groups;
  /** The batches that it is for; undefined: all. */
  kinds: readonly Kind[] | undefined;
}

/** What a dispatch reads or writes. */
type Bound = GPUBuffer | Layer | undefined;

/** Where the steps of a section are. */
export interface Place {
  use: Use;
  /** Its keys and values, with a cache. */
  layer: Layer | undefined;
  /** The buffer of a value. */
  of: (value: number) => GPUBuffer;
  counts: GPUBuffer;
  /** Batches that it is run over. */
  kinds: readonly Kind[];
}

/** Threads of the kernels with a thread for each number. */
export const kThreads = 64;

export class Steps {
  /** What each batch brings: ids, positions and the like. */
  readonly inputs = new Map<string, { buffer: GPUBuffer; of: (sequences: Sequences) => Uint32Array }>();
  readonly blocks: GPUBuffer;
  /** Makes the bindings of dispatches with keys and values anew. */
  readonly rebinds: (() => void)[] = [];
  private readonly weights: Weights;
  private quantized: GPUBuffer[] | undefined;
  private halved: GPUBuffer[] | undefined;
  /** Products in f16. */
  halves = 0;

  constructor(
    private readonly device: Device,
    private readonly plan: Plan,
    call: Call,
    /** Most tokens of a batch. */
    private readonly budget: number,
    private readonly cache: Cache | undefined,
    /** Whether products in f16 are wanted; with a cache there are none, since tokens are multiplied by other kernels there. */
    halves: boolean,
  ) {
    this.blocks = device.storage(32 * budget);
    this.weights = new Weights(device, plan, call, halves && !cache);
  }

  /** Activations of the widest product. */
  private get depth(): number {
    const { plan } = this;
    const uses = plan.head ? [...plan.uses, plan.head] : plan.uses;
    return Math.max(
      ...uses.flatMap(({ steps, values }) => steps.map(({ op, x }) => (op === 'linear' ? values[x]!.width || plan.hidden : 0))),
    );
  }
  /** Room for activations in whole numbers. */
  private forWhole(): GPUBuffer[] {
    const { device, budget } = this;
    const groups = Math.ceil(this.depth / kGroup);
    return (this.quantized ??= [device.storage(groups * kGroup * budget), device.storage(8 * groups * budget)]);
  }
  /** Room for activations in f16. */
  private forHalves(): GPUBuffer[] {
    const { device, budget } = this;
    return (this.halved ??= [device.storage(8 * Math.ceil(this.depth / 4) * budget), device.storage(4 * budget)]);
  }

  private input(name: string, of: (sequences: Sequences) => Uint32Array, width = 1): GPUBuffer {
    let input = this.inputs.get(name);
    if (!input) this.inputs.set(name, (input = { buffer: this.device.storage(4 * width * this.budget), of }));
    return input.buffer;
  }

  async dispatch(
    { counts }: Pick<Place, 'counts'>,
    kernel: Kernel,
    buffers: readonly Bound[],
    groups: Groups,
    kinds?: readonly Kind[],
  ): Promise<Dispatch> {
    const pipeline = await this.device.pipeline(kernel);
    const isLayer = (bound: Bound): bound is Layer => bound !== undefined && 'row' in bound;
    const bind = () => {
      const bound = [counts, ...buffers.filter((each) => each !== undefined)];
      return this.device.bind(
        pipeline,
        bound.map((each) => (isLayer(each) ? each.buffer : (each as GPUBuffer))),
      );
    };
    const made: Dispatch = { pipeline, bindings: bind(), groups, kinds };
    if (buffers.some(isLayer)) this.rebinds.push(() => (made.bindings = bind()));
    return made;
  }

  /** Those of one step of the plan. */
  step(place: Place, step: Step): Promise<Dispatch>[] {
    const { plan } = this;
    const { use, of } = place;
    const width = use.values[step.out]!.width;
    const out = of(step.out);
    const x = step.x < 0 ? undefined : of(step.x);
    const other = step.other < 0 ? undefined : of(step.other);
    const weight = step.weight < 0 ? undefined : this.weights.of(use, step);
    const part = (name: string) => weight?.parts.get(name);
    const perNumber: Groups = ({ tokens }) => [Math.ceil(width / kThreads), tokens];
    const perRow: Groups = ({ tokens }) => [tokens, 1];
    const one = (kernel: Kernel, buffers: readonly Bound[], groups: Groups = perNumber) => [
      this.dispatch(place, kernel, buffers, groups),
    ];
    switch (step.op) {
      case 'words': {
        const ids = this.input('words', (batch) => Uint32Array.from(batch.ids));
        const panels = part('weight');
        return one(rows.words(width, weight!.type, panels !== undefined), [ids, panels ?? part('table'), part('scale'), out]);
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
      case 'attention':
        return this.attention(place, step, x!, part('values'), weight?.shape[0], out);
      case 'linear':
        return this.linear(place, step, x!, out);
    }
    throw new DeviceError(`the op '${step.op}'`);
  }

  private attention(
    place: Place,
    step: Step,
    x: GPUBuffer,
    bias: Bound,
    span: number | undefined,
    out: GPUBuffer,
  ): Promise<Dispatch>[] {
    const { use, layer } = place;
    const constants = this.plan.attentions[step.attention]!;
    const { heads, keyWidth } = constants;
    const width = use.values[step.x]!.width;
    const ofWhole: Groups = ({ blocks }) => [blocks, heads];
    const shared = { constants, scoreDivisor: use.scoreDivisor, span };
    if (!layer) {
      const kernel = attention({ ...shared, row: width, keysAt: heads * keyWidth });
      return [this.dispatch(place, kernel, [x, x, this.blocks, bias, out], ofWhole)];
    }
    const places = this.input('places', (batch) => placesOf(batch, this.cache!.length), 2);
    const cached = { ...shared, row: layer.row, keysAt: 0 };
    return [
      this.dispatch(place, store(width, layer.row), [x, places, layer], ({ tokens }) => [Math.ceil(layer.row / kThreads), tokens]),
      this.dispatch(place, attention(cached), [x, layer, this.blocks, bias, out], ofWhole, ['many']),
      this.dispatch(place, attentionOfOne(cached), [x, layer, places, bias, out], ({ tokens }) => [tokens, heads], ['one', 'few']),
    ];
  }

  private linear(place: Place, step: Step, x: GPUBuffer, out: GPUBuffer): Promise<Dispatch>[] {
    const { type, shape, parts, halves } = this.weights.of(place.use, step);
    const n = place.use.values[step.out]!.width;
    const k = shape[1]!;
    const own = { n, k, bias: parts.has('bias'), activation: step.variant };
    const part = (name: string) => parts.get(name);
    const tiles: Groups = ({ tokens }) => [Math.ceil(n / kTile.columns), Math.ceil(tokens / kTile.rows)];
    const panels =
      (rows: number): Groups =>
      ({ tokens }) => [Math.ceil(n / 8), Math.ceil(tokens / rows)];
    if (halves) {
      this.halves += 1;
      const [h, factor] = this.forHalves();
      return [
        this.dispatch(place, halve(k), [x, h, factor], ({ tokens }) => [tokens, 1]),
        this.dispatch(
          place,
          productHalves(halves, own),
          [h, factor, part('weight'), halves === 'mixed' ? part('scale') : undefined, part('bias'), out],
          tiles,
        ),
      ];
    }
    const whole = type === 'f32' || type === 'f16' ? undefined : (type as Whole);
    const floats = type as Floats;
    const { packedDot } = this.device;
    const [q, qz] = whole ? this.forWhole() : [];
    const buffers = whole
      ? [q, qz, part('weight'), part('book'), part('scale'), part('sum'), part('bias'), out]
      : [x, part('weight'), part('scale'), part('bias'), out];
    const ofFew = (rows: number) => (whole ? productWholeOfFew(whole, own, rows, packedDot) : productOfFew(floats, own, rows));
    const made = place.kinds.map((kind) => {
      if (kind === 'many')
        return this.dispatch(place, whole ? productWhole(whole, own, packedDot) : product(floats, own), buffers, tiles, ['many']);
      const rows = kind === 'one' ? 1 : kRowsOfFew;
      return this.dispatch(place, ofFew(rows), buffers, panels(rows), [kind]);
    });
    if (!whole) return made;
    return [this.dispatch(place, quantize(k), [x, q, qz], ({ tokens }) => [Math.ceil(k / kGroup / 4), tokens]), ...made];
  }
}
