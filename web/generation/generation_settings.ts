// transformers.js's names for what wattn takes as plain objects.

/**
 * Options of `generate` in one object.
 *
 *     const generation_config = new GenerationConfig({ max_new_tokens: 60, do_sample: true });
 *     await model.generate({ ...inputs, generation_config });
 *
 * @example
 * const config = new GenerationConfig({ max_new_tokens: 20, do_sample: true });
 */
export class GenerationConfig {
  [option: string]: unknown;
  constructor(options: object = {}) {
    Object.assign(this, options);
  }
}

/** Values of `env.logLevel`: from `LogLevel.ERROR` on, wattn writes no warning. */
export const LogLevel = {
  /** Warnings are written, as by default. */
  DEBUG: 10,
  /** Warnings are written, as by default. */
  INFO: 20,
  /** Warnings are written: the default. */
  WARNING: 30,
  /** No warning is written. */
  ERROR: 40,
  /** Nothing is written at all. */
  NONE: 50,
} as const;
