// What to do when a hub refuses a file. Loaded when that happens.
interface Refusal {
  status: number;
  /** The hub's own word for it, such as 'GatedRepo'; null if it says nothing. */
  code: string | null;
  /** The address of the repository's page; undefined: the file is not of a hub. */
  page: string | undefined;
  /** Whether a token was sent. */
  hasToken: boolean;
}

/** A sentence for the end of a message, in brackets; empty for other statuses. */
export function refusalHint({ status, code, page, hasToken }: Refusal): string {
  if (status !== 401 && status !== 403) return '';
  if (page === undefined) return status === 401 ? ' (the server asks for a login)' : ' (the server forbids it)';
  const gated = code === 'GatedRepo';
  if (!hasToken) {
    const what = gated
      ? `the repository is gated: accept its terms at ${page}, and pass`
      : `private, gated and missing repositories get this response: check the name, or pass`;
    return ` (${what} a token with the option 'token' or, in Node, HF_TOKEN)`;
  }
  if (status === 401 && !gated)
    return ` (the token was not accepted: it may have expired, or the repository is missing; see ${page})`;
  return ` (the token has no access: accept the terms at ${page}, or use a token that may read this repository)`;
}
