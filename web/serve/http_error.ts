// Errors of requests, in the two JSON shapes that clients know: OpenAI's and text-embeddings-inference's.
import { InputError, StateError, UnsupportedError, WattnError } from '../core/errors.js';

/** Whose shapes a route speaks: OpenAI's, or text-embeddings-inference's. */
export type Dialect = 'openai' | 'tei';

interface More {
  /** The member of the request that is wrong. */
  param?: string | undefined;
  /** OpenAI's name of the error. */
  code?: string | undefined;
  headers?: Record<string, string>;
}

/** What a request is answered with in place of a result. */
export class HttpError extends Error {
  constructor(
    readonly status: number,
    message: string,
    readonly more: More = {},
  ) {
    super(message);
  }
}

const kOpenAiTypes: Record<number, string> = { 401: 'authentication_error', 403: 'permission_error', 429: 'rate_limit_error' };
const kTeiTypes: Record<number, string> = { 424: 'Backend', 429: 'Overloaded', 500: 'Backend', 503: 'Unhealthy' };

/** The body of an error. */
export function errorBody({ status, message, more }: HttpError, dialect: Dialect): string {
  if (dialect === 'tei') return JSON.stringify({ error: message, error_type: kTeiTypes[status] ?? 'Validation' });
  const type = kOpenAiTypes[status] ?? (status >= 500 ? 'server_error' : 'invalid_request_error');
  return JSON.stringify({ error: { message, type, param: more.param ?? null, code: more.code ?? null } });
}

/** A status that each dialect has in a place of its own. */
const kWrong = { openai: 400, tei: 422 } as const;
const kOtherModel = { openai: 400, tei: 424 } as const;

/** A request that is not as the route expects it. */
export const wrongRequest = (dialect: Dialect, message: string, param?: string, code?: string) =>
  new HttpError(kWrong[dialect], message, { param, code });

/** A route that the served model cannot answer. */
export const otherModel = (dialect: Dialect, message: string) => new HttpError(kOtherModel[dialect], message);

/** What went wrong, as a client may know it: never a stack. */
export function toHttpError(error: unknown, dialect: Dialect): HttpError {
  if (error instanceof HttpError) return error;
  if (error instanceof InputError) return wrongRequest(dialect, error.message);
  if (error instanceof UnsupportedError) return otherModel(dialect, error.message);
  if (error instanceof StateError) return new HttpError(503, error.message);
  if (error instanceof WattnError) return new HttpError(500, error.message);
  return new HttpError(500, `internal error of wattn: ${String((error as Error)?.message ?? error)}`);
}
