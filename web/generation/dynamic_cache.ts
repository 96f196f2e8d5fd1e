/**
 * What `generate` returns as `past_key_values`, to be passed on to the next call. Keys and values stay in WebAssembly, so it only knows how many tokens were
 * read; the next call computes them again.
 *
 *     let past_key_values = null;
 *     ({ sequences, past_key_values } = await model.generate({ ...inputs, past_key_values, return_dict_in_generate: true }));
 *
 * @example
 * const past_key_values = new DynamicCache(); // for `past_key_values` of `model.generate`
 */
export class DynamicCache {
  private readonly length: number;

  constructor(length = 0) {
    this.length = length;
  }
  /** How many tokens were read. */
  get_seq_length(): number {
    return this.length;
  }
  /** Does nothing, because it holds nothing. */
  async dispose(): Promise<void> {}
}
