/** Adds dispose() to target, and the symbols for `using` where the engine has them. */
export function disposable<T extends object>(target: T, release: () => void) {
  const dispose = async () => release();
  Object.assign(target, { dispose });
  if (Symbol.dispose) Object.defineProperty(target, Symbol.dispose, { value: release });
  if (Symbol.asyncDispose) Object.defineProperty(target, Symbol.asyncDispose, { value: dispose });
  return target as T & { dispose(): Promise<void>; [Symbol.dispose](): void; [Symbol.asyncDispose](): Promise<void> };
}
