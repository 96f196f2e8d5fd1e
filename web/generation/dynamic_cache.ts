/** Where holds that were forgotten are released. Engines without it keep them until dispose(). */
const forgotten =
  typeof FinalizationRegistry === 'function' ? new FinalizationRegistry((release: () => void) => release()) : undefined;

/**
 * What `generate` returns as `past_key_values`, to be passed on to the next call. Keys and values stay in WebAssembly: this names those of a call, which
 * stay in memory until `dispose()`, within the model's `prefix_cache_bytes`.
 *
 *     let past_key_values = null;
 *     ({ sequences, past_key_values } = await model.generate({ ...inputs, past_key_values, return_dict_in_generate: true }));
 *
 * @example
 * const past_key_values = new DynamicCache(); // for `past_key_values` of `model.generate`
 */
export class DynamicCache {
  private readonly length: number;
  private release: (() => void | Promise<void>) | undefined;

  /** release: frees what the model holds. */
  constructor(length = 0, release?: () => void | Promise<void>) {
    this.length = length;
    this.release = release;
    if (release) forgotten?.register(this, release, this);
  }
  /** How many tokens were read. */
  get_seq_length(): number {
    return this.length;
  }
  /** Frees what nothing else uses of it; what has been read stays right, and is computed again if it is needed. */
  async dispose(): Promise<void> {
    const { release } = this;
    this.release = undefined;
    forgotten?.unregister(this);
    await release?.();
  }
}
