// What to do when nothing responds, loaded then: Node's fetch ignores the variables that name a proxy unless it is told.

/** The end of a message; empty where there is nothing to say. */
export function networkHint(): string {
  const { env = {}, versions = {} } = ((globalThis as { process?: unknown }).process ?? {}) as Partial<
    Record<'env' | 'versions', Record<string, string>>
  >;
  const name = ['HTTPS_PROXY', 'https_proxy', 'HTTP_PROXY', 'http_proxy', 'ALL_PROXY', 'all_proxy'].find((each) => env[each]);
  const [major = 0, minor = 0] = (versions['node'] ?? '').split('.').map(Number);
  if (!name || !major || versions['bun'] || versions['deno'] || env['NODE_USE_ENV_PROXY'] === '1') return '';
  if (major >= 24 || (major === 22 && minor >= 21)) return ` (${name} is set, which Node uses only with NODE_USE_ENV_PROXY=1)`;
  return ` (${name} is set, which this version of Node does not use: take Node 24 with NODE_USE_ENV_PROXY=1, or set env.fetch)`;
}
