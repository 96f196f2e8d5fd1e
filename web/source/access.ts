// What a caller's options and environment say of requests.
import { env } from '../core/env.js';
import { platform } from './platform.js';
import type { Access } from './source.js';
import type { SourceOptions } from './types.js';

/** The token of the options, else of the environment. */
export const accessOf = ({ timeout, token }: Pick<SourceOptions, 'timeout' | 'token'>): Access => ({
  timeout: timeout ?? undefined,
  token: () => (token ?? platform.hubToken?.(env.remoteHost)) || undefined,
});
