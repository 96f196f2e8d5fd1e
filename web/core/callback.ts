// Callbacks of callers, which may be async functions.

/**
 * The callback as a plain function. If its promise rejects, the next call throws what it rejected with, as a callback that throws does:
 * nobody else would notice it, and Node would end the process.
 */
export function plainCallback<Info>(callback: ((info: Info) => unknown) | null | undefined): (info: Info) => void {
  let failure: { error: unknown } | undefined;
  return (info) => {
    if (failure) throw failure.error;
    const answer = callback?.(info);
    if (answer instanceof Promise) answer.catch((error: unknown) => (failure = { error }));
  };
}
