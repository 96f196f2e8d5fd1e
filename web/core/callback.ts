// Callbacks of callers, which may be async functions. answers.ts checks what the others answer.

/**
 * The callback as a plain function. If its promise rejects, the next call throws what it rejected with, as a callback that throws does:
 * nobody else would notice it, and Node would end the process.
 */
export function plainCallback<Args extends unknown[]>(
  callback: ((...args: Args) => unknown) | null | undefined,
): (...args: Args) => void {
  let failure: { error: unknown } | undefined;
  return (...args) => {
    if (failure) throw failure.error;
    Promise.resolve(callback?.(...args)).catch((error: unknown) => (failure = { error }));
  };
}
