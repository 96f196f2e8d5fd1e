// Requests with a token. Loaded with the first one.
import { InputError } from '../core/errors.js';

/** The header for a token. */
export function bearer(token: string): string {
  if (/^[!-~]+$/.test(token)) return `Bearer ${token}`;
  throw new InputError("option 'token' (or HF_TOKEN): expected printable ASCII without spaces, found other characters");
}

export type Fetch = (url: string, init: RequestInit) => Promise<Response>;

const kRedirects = [301, 302, 303, 307, 308];
const kMostRedirects = 20;
/** The functions that hide where redirects lead, as those of pages do. */
const kHiding = new WeakSet<Fetch>();

/**
 * fetch that sends a token to no other host than the first: redirects are followed here, without the token once one leads elsewhere. In a page the
 * browser must follow them, and does the same by the Fetch standard.
 */
export async function fetchWithToken(fetch: Fetch, url: string, init: RequestInit): Promise<Response> {
  if (kHiding.has(fetch)) return fetch(url, init);
  const { authorization, ...others } = init.headers as Record<string, string>;
  const { origin } = new URL(url);
  let isHome = true;
  for (let at = new URL(url), hops = 0; hops <= kMostRedirects; ++hops) {
    isHome &&= at.origin === origin;
    const headers = isHome ? { ...others, authorization: authorization as string } : others;
    const response = await fetch(at.href, { ...init, headers, redirect: 'manual' });
    if (response.type === 'opaqueredirect') {
      kHiding.add(fetch);
      return fetch(url, init);
    }
    const location = kRedirects.includes(response.status) ? response.headers.get('location') : null;
    if (location === null) return hops > 0 ? Object.defineProperty(response, 'redirected', { value: true }) : response;
    await response.body?.cancel().catch(() => {});
    at = new URL(location, at);
  }
  throw new Error(`more than ${kMostRedirects} redirects`);
}
