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

/** Values of `env.logLevel`. From `LogLevel.ERROR` on, wattn prints no warnings. */
export const LogLevel = {
  /** Prints warnings, like the default. */
  DEBUG: 10,
  /** Prints warnings, like the default. */
  INFO: 20,
  /** Prints warnings. The default. */
  WARNING: 30,
  /** Prints no warnings. */
  ERROR: 40,
  /** Prints no messages. */
  NONE: 50,
} as const;
