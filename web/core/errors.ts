// The errors of wattn. WebAssembly reports them as numbers, listed in src/core/error_codes.def; a test compares both lists.

const kMostChars = 2000;

/** A message without its middle if it is very long: names in files may have any length. */
function shortened(message: string): string {
  if (message.length <= kMostChars) return message;
  const [head, tail] = [0.7 * kMostChars, 0.25 * kMostChars];
  const cut = message.length - head - tail;
  return `${message.slice(0, head)}... (${cut} characters) ...${message.slice(-tail)}`;
}

/**
 * Base class of every error that wattn throws. `name` and `code` are the same in every bundle and realm, minified or not.
 *
 * @example
 * try {
 *   await pipeline('no-such-task');
 * } catch (error) {
 *   error instanceof WattnError; // => true
 * }
 */
export class WattnError extends Error {
  /** The kind of error: `'model_format'`, `'unsupported'`, `'input'`, `'out_of_memory'`, `'state'`, `'abort'`, `'network'`,
   * `'incomplete'`. */
  declare readonly code: string;

  constructor(message?: string, options?: { cause?: unknown }) {
    super(message === undefined ? message : shortened(message), options);
  }
}

// Set on the prototype, so that stack traces begin with the right name, and on the class, whose own name is gone after minifying.
function setName(error: { prototype: WattnError }, name: string, code: string): void {
  Object.defineProperty(error, 'name', { value: name });
  Object.defineProperties(error.prototype, { name: { value: name }, code: { value: code } });
}

/**
 * A model file is missing or malformed.
 *
 * @example
 * try {
 *   await AutoModel.from_pretrained({ 'config.json': new Uint8Array(3) });
 * } catch (error) {
 *   error instanceof ModelFormatError; // => true
 * }
 */
export class ModelFormatError extends WattnError {
  static {
    setName(this, 'ModelFormatError', 'model_format');
  }
}

/**
 * The request or file is valid, but wattn or this JavaScript engine does not support it.
 *
 * @example
 * const embed = await pipeline('feature-extraction', undefined, { worker: true });
 * try {
 *   embed.tokenizer; // is in the worker
 * } catch (error) {
 *   error instanceof UnsupportedError; // => true
 * }
 */
export class UnsupportedError extends WattnError {
  static {
    setName(this, 'UnsupportedError', 'unsupported');
  }
}

/**
 * An argument or option is invalid.
 *
 * @example
 * try {
 *   await pipeline('no-such-task');
 * } catch (error) {
 *   error instanceof InputError; // => true
 * }
 */
export class InputError extends WattnError {
  static {
    setName(this, 'InputError', 'input');
  }
}

/**
 * There is not enough memory.
 *
 * @example
 * try {
 *   await pipeline('feature-extraction');
 * } catch (error) {
 *   if (!(error instanceof OutOfMemoryError)) throw error; // take a smaller dtype, or shorter texts
 * }
 */
export class OutOfMemoryError extends WattnError {
  static {
    setName(this, 'OutOfMemoryError', 'out_of_memory');
  }
}

/**
 * The call is not possible in this state: after `dispose()`, after a failure inside WebAssembly, or when wattn's own files are missing or from different
 * builds.
 *
 * @example
 * try {
 *   const embed = await pipeline('feature-extraction');
 *   await embed.dispose();
 *   await embed('a text');
 * } catch (error) {
 *   error instanceof StateError; // => true
 * }
 */
export class StateError extends WattnError {
  static {
    setName(this, 'StateError', 'state');
  }
}

/**
 * The caller's `AbortSignal` fired. `cause` is the signal's `reason`.
 *
 * @example
 * try {
 *   await pipeline('feature-extraction', undefined, { signal: AbortSignal.abort() });
 * } catch (error) {
 *   error instanceof AbortError; // => true
 * }
 */
export class AbortError extends WattnError {
  static {
    setName(this, 'AbortError', 'abort');
  }
}

/**
 * A request failed: no response, an error status, a broken connection, or the wrong file in the response.
 *
 * @example
 * env.fetch = async () => new Response('busy', { status: 403 });
 * try {
 *   await pipeline('feature-extraction', 'https://example.org/model/');
 * } catch (error) {
 *   error instanceof NetworkError; // => true
 * } finally {
 *   env.fetch = undefined;
 * }
 */
export class NetworkError extends WattnError {
  /** The requested URL. */
  readonly url: string;
  /** The HTTP status, if there was a response. */
  readonly status: number | undefined;

  constructor(message: string, url: string, status?: number, options?: { cause?: unknown }) {
    super(message, options);
    this.url = url;
    this.status = status;
  }

  static {
    setName(this, 'NetworkError', 'network');
  }
}

/**
 * Generation reached its length limit before the text satisfied `response_format`.
 *
 * @example
 * // pipe: a pipeline of 'text-generation'
 * const write = async (pipe) => {
 *   try {
 *     return await pipe('A', { max_new_tokens: 9, response_format: { type: 'regex', regex: 'a{99}' } });
 *   } catch (error) {
 *     if (error instanceof IncompleteError) return error.text;
 *     throw error;
 *   }
 * };
 */
export class IncompleteError extends WattnError {
  /** The text generated so far. */
  readonly text: string;
  /** The token ids generated so far. */
  readonly tokens: number[];
  /** Number of tokens of the prompt. */
  readonly prompt_tokens: number;
  /** The index of the prompt. */
  readonly prompt: number;
  /** One entry per prompt of a list: its results, or its error. */
  readonly results?: readonly unknown[];

  constructor(
    message: string,
    written: { text: string; tokens: number[]; prompt_tokens: number; prompt: number; results?: readonly unknown[] },
    options?: { cause?: unknown },
  ) {
    super(message, options);
    this.text = written.text;
    this.tokens = written.tokens;
    this.prompt_tokens = written.prompt_tokens;
    this.prompt = written.prompt;
    if (written.results) this.results = written.results;
  }

  static {
    setName(this, 'IncompleteError', 'incomplete');
  }
}

/** @internal The error with code i + 1 is at index i. */
export const kSeamErrors = [ModelFormatError, UnsupportedError, InputError, OutOfMemoryError, StateError] as const;

/** @internal The error for a code from WebAssembly. */
export function seamError(code: number, message: string): WattnError {
  const SeamError = kSeamErrors[code - 1];
  return SeamError ? new SeamError(message) : new StateError(`unknown error code ${code}: ${message}`);
}

/** @internal Describes a value in messages: "'text'", "null", "an array". */
export function describe(value: unknown): string {
  if (value === null || value === undefined) return String(value);
  if (Array.isArray(value)) return 'an array';
  if (typeof value === 'string') return value.length <= 40 ? `'${value}'` : `'${value.slice(0, 40)}...'`;
  if (typeof value === 'number' || typeof value === 'boolean' || typeof value === 'bigint') return String(value);
  if (typeof value === 'object') {
    const tag = Object.prototype.toString.call(value).slice(8, -1);
    return tag === 'Object' ? 'an object' : `an object (${tag})`;
  }
  return `a ${typeof value}`;
}
