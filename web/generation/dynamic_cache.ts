/** Where holds that were forgotten are released. Engines without it keep them until dispose(). */
const forgotten =
  typeof FinalizationRegistry === 'function' ? new FinalizationRegistry((release: () => void) => release()) : undefined;

/**
 * A handle to the keys and values of a call: `generate` returns it as `past_key_values`, and the next call accepts it. Keys and values stay inside
 * WebAssembly until `dispose()`, within the model's `prefix_cache_bytes`.
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

  /** `release` frees what the model holds. */
  constructor(length = 0, release?: () => void | Promise<void>) {
    this.length = length;
    this.release = release;
    if (release) forgotten?.register(this, release, this);
  }
  /** Number of tokens that were read. */
  get_seq_length(): number {
    return this.length;
  }
  /** Frees keys and values that nothing else uses. Later calls compute them again if needed. */
  async dispose(): Promise<void> {
    const { release } = this;
    this.release = undefined;
    forgotten?.unregister(this);
    await release?.();
  }
}
