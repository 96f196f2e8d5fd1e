// One WebAssembly instance with its one handle, and the error handling around every call.
import { OutOfMemoryError, seamError, StateError, type WattnError } from '../core/errors.js';
import type { Answer } from './seam.js';
import type { Instance } from './wasm_loader.js';

export class SeamHost<Handle extends { delete?(): void }> {
  private inside: { instance: Instance<unknown>; handle: Handle } | undefined;
  private broken: WattnError | undefined;

  /** what: "this model" or "this tokenizer", for messages. */
  constructor(
    private readonly what: string,
    instance: Instance<unknown>,
    handle: Handle,
  ) {
    this.inside = { instance, handle };
  }

  get isOpen(): boolean {
    return this.inside !== undefined && !this.broken;
  }

  get isBroken(): boolean {
    return this.broken !== undefined;
  }

  /** Runs a call and returns its answer, or throws the error of its code. */
  call<A extends Answer>(run: (handle: Handle) => A): A {
    if (!this.inside) throw new StateError(`${this.what} was disposed`);
    if (this.broken) throw new StateError(`${this.what} failed earlier and cannot continue; load it again`, { cause: this.broken });
    const { instance, handle } = this.inside;
    instance.growth.refused = false;
    let answer: A;
    try {
      answer = run(handle);
    } catch (cause) {
      this.broken = this.explain(instance, cause);
      throw this.broken;
    }
    if (answer.code !== 0) throw seamError(answer.code, answer.message);
    return answer;
  }

  /** Releases the instance with all its memory. */
  release(): void {
    const { inside } = this;
    this.inside = undefined;
    if (!this.broken) inside?.handle.delete?.();
  }

  // A trap, or an exception on the way: C++ frames were not unwound, so the instance cannot be used any more.
  private explain(instance: Instance<unknown>, cause: unknown): WattnError {
    const { name, message } = (cause ?? {}) as { name?: unknown; message?: unknown };
    const stack = /stack|recursion/i.test(String(message));
    if (instance.growth.refused || (name === 'RangeError' && !stack)) {
      const held = instance.memory.buffer.byteLength;
      return new OutOfMemoryError(`${this.what}: out of memory: needs more than the ${held} bytes it has`, {
        cause,
      });
    }
    return new StateError(`${this.what} failed inside WebAssembly: ${String(message ?? cause)}`, { cause });
  }
}
