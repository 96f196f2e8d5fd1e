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
export const LogLevel = { DEBUG: 10, INFO: 20, WARNING: 30, ERROR: 40, NONE: 50 } as const;
