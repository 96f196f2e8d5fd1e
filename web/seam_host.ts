// One WebAssembly instance, and the guard around every crossing into it.
import { OutOfMemoryError, seamError, StateError, type WattnError } from './errors.js';
import type { Answer, SeamModule } from './seam.js';
import type { Instance } from './wasm_loader.js';

export class SeamHost {
  private instance: Instance | undefined;
  private broken: WattnError | undefined;

  /** what: "this model" or "this tokenizer", for messages. */
  constructor(
    instance: Instance,
    private readonly what: string,
  ) {
    this.instance = instance;
  }

  /** What run answers, when it is well. Otherwise throws the error that the code stands for. */
  call<A extends Answer>(run: (seam: SeamModule) => A): A {
    const { instance } = this;
    if (!instance) throw new StateError(`${this.what} was disposed`);
    if (this.broken) throw new StateError(`${this.what} broke before and cannot go on; load it again`, { cause: this.broken });
    instance.growth.refused = false;
    let answer: A;
    try {
      answer = run(instance.seam);
    } catch (cause) {
      this.broken = this.explain(instance, cause);
      throw this.broken;
    }
    if (answer.code !== 0) throw seamError(answer.code, answer.message);
    return answer;
  }

  get usable(): boolean {
    return this.instance !== undefined && this.broken === undefined;
  }

  /** Bytes of the instance's memory as it is now. */
  get heapBytes(): number {
    return this.instance?.memory.buffer.byteLength ?? 0;
  }

  /** Lets go of the instance, and with it of all its memory. */
  release(): void {
    this.instance = undefined;
  }

  // A trap, or an exception of the glue: C++ frames were left without an end, so nothing in there can be relied on.
  private explain(instance: Instance, cause: unknown): WattnError {
    const { name, message } = (cause ?? {}) as { name?: unknown; message?: unknown };
    const stack = /stack|recursion/i.test(String(message));
    if (instance.growth.refused || (name === 'RangeError' && !stack)) {
      const held = instance.memory.buffer.byteLength;
      return new OutOfMemoryError(`${this.what}: expected more memory than the ${held} bytes it holds, and none was to be had`, {
        cause,
      });
    }
    return new StateError(`${this.what} broke inside WebAssembly: ${String(message ?? cause)}`, { cause });
  }
}
