// The errors of wattn. Numbers come across the seam; their one list is src/core/error_codes.def (a test compares).

/** Base of every error that wattn throws. `name` and `code` stay the same across bundles, realms and minifiers. */
export class WattnError extends Error {
  /** A short word for the kind: `'model_format'`, `'unsupported'`, `'input'`, `'out_of_memory'`, `'state'`, `'abort'`, `'network'`. */
  declare readonly code: string;
}

// On the prototype, so that a stack trace begins with the right name.
function entitle(error: { prototype: WattnError }, name: string, code: string): void {
  Object.defineProperties(error.prototype, { name: { value: name }, code: { value: code } });
}

/** Bytes or fields of a model's files are not what their format says, or a file is missing. */
export class ModelFormatError extends WattnError {
  static {
    entitle(this, 'ModelFormatError', 'model_format');
  }
}

/** Well formed, but something that wattn (or this engine) does not do. */
export class UnsupportedError extends WattnError {
  static {
    entitle(this, 'UnsupportedError', 'unsupported');
  }
}

/** An argument or an option of a call is wrong. */
export class InputError extends WattnError {
  static {
    entitle(this, 'InputError', 'input');
  }
}

/** The memory that a call needs is not to be had. */
export class OutOfMemoryError extends WattnError {
  static {
    entitle(this, 'OutOfMemoryError', 'out_of_memory');
  }
}

/** A call at the wrong time: after `dispose()`, or on a model that broke before; also files of two different builds of wattn. */
export class StateError extends WattnError {
  static {
    entitle(this, 'StateError', 'state');
  }
}

/** The caller's `AbortSignal` fired. `cause` is the signal's `reason`. */
export class AbortError extends WattnError {
  static {
    entitle(this, 'AbortError', 'abort');
  }
}

/** A request failed: no answer, an error status, a connection that broke off, or something else in place of the file. */
export class NetworkError extends WattnError {
  /** What was asked for. */
  readonly url: string;
  /** The HTTP status that came, when one came. */
  readonly status: number | undefined;

  constructor(message: string, url: string, status?: number, options?: { cause?: unknown }) {
    super(message, options);
    this.url = url;
    this.status = status;
  }

  static {
    entitle(this, 'NetworkError', 'network');
  }
}

/** @internal Position + 1 is the number that crosses the seam. */
export const kSeamErrors = [ModelFormatError, UnsupportedError, InputError, OutOfMemoryError, StateError] as const;

/** @internal The error for a code that came across the seam. */
export function seamError(code: number, message: string): WattnError {
  const SeamError = kSeamErrors[code - 1];
  return SeamError ? new SeamError(message) : new StateError(`error ${code} without a name: ${message}`);
}

/** @internal What a value is, for messages: "a string", "null", "an array". */
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
