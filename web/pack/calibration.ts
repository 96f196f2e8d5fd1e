// What the layers of a model read while it reads texts, for rounding their matrices (rounding.ts).
import { describe, InputError } from '../core/errors.js';
import { readTexts } from '../core/texts.js';
import type { Engine } from '../engine/engine.js';
import type { ModelSpecifier } from '../source/types.js';
import type { PackParts } from './pack_parts.js';
import type { Found, Planned } from './pack_plan.js';
import type { PackOptions } from './pack_types.js';
import { Rounding } from './rounding.js';

/** Numbers of the sums that are held at once, of several layers. More layers than that need the texts to be read again. */
const kMostSums = 1 << 27;

/** A matrix to be rounded, and the layer that reads by it. */
interface Rounded {
  name: string;
  layer: number;
  width: number;
}

export class Calibration {
  private readonly rounded: Rounded[] = []; // in the order in which they are asked for
  private readonly held = new Map<number, Rounding>(); // by layer

  private constructor(
    private readonly engine: Engine,
    private readonly texts: string[],
    private readonly options: PackOptions,
  ) {}

  /** Loads the model. */
  static async open(parts: PackParts, model: ModelSpecifier, options: PackOptions): Promise<Calibration> {
    const { calibrate, signal, revision, local_files_only, cache_dir, timeout, token } = options;
    if (!Array.isArray(calibrate))
      throw new InputError(`pack: option 'calibrate': expected an array of texts, found ${describe(calibrate)}`);
    const texts = readTexts("pack: option 'calibrate'", calibrate);
    if (texts.length === 0) throw new InputError("pack: option 'calibrate': expected texts, found none");
    const engine = await parts.loadWhole(model, { signal, revision, local_files_only, cache_dir, timeout, token });
    return new Calibration(engine, texts, options);
  }

  /** Lets the plan round the matrices in 4 bits by what their layers read. */
  attach(found: readonly Found[], tensors: ReadonlyMap<string, Planned>): void {
    const inFour = found.filter(({ key }) => tensors.get(key)?.type === 'q4');
    const layers = this.watch(inFour.map(({ name }) => name));
    this.watch([]);
    inFour.forEach(({ key, name, shape }, i) => {
      const layer = layers[i] as number;
      if (layer < 0) return;
      const at = this.rounded.push({ name, layer, width: shape[1] as number }) - 1;
      (tensors.get(key) as Planned).round = async (values) => (await this.roundingOf(at)).blocks(values);
    });
    if (this.rounded.length === 0)
      throw new InputError("pack: option 'calibrate': expected layers with matrices in 4 bits, found none");
  }

  close(): void {
    this.engine.dispose();
  }

  /** Begins to collect what the layers of these tensors read; none: ends it. Gives each tensor's layer, or -1. */
  private watch(names: readonly string[]): Int32Array {
    return this.engine.call((handle) => handle.watch_inputs(names)).layers;
  }

  private async roundingOf(at: number): Promise<Rounding> {
    const { layer } = this.rounded[at] as Rounded;
    if (!this.held.has(layer)) await this.read(at);
    return this.held.get(layer) as Rounding;
  }

  /** Lets the model read the texts, for that matrix and those that follow it as far as there is room. */
  private async read(from: number): Promise<void> {
    this.held.clear();
    const group = new Map<number, Rounded>();
    let sums = 0;
    for (const matrix of this.rounded.slice(from)) {
      if (group.has(matrix.layer)) continue;
      sums += matrix.width ** 2;
      if (group.size > 0 && sums > kMostSums) break;
      group.set(matrix.layer, matrix);
    }
    const matrices = [...group.values()];
    const layers = this.watch(matrices.map(({ name }) => name));
    await this.engine.embed(this.texts, { pooling: ['mean'] }, this.options.signal ?? undefined);
    matrices.forEach(({ layer, width }, i) => {
      const { sums: seen } = this.engine.call((handle) => handle.input_moments(layers[i] as number));
      this.held.set(layer, new Rounding(seen, width));
    });
    this.watch([]);
  }
}
