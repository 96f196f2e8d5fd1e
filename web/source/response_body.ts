// The bytes of a response body, read ahead of the consumer.
//
// Node 22 to 24 end the whole process (an uncatchable assertion in undici, its issue 5360) when a server closes the connection while the
// last 128 kB of a body are unread. A body that is opened early, like the weights while small files still arrive, must not be left unread.
// So reading continues until much is buffered, and never pauses near the end.
import { NetworkError } from '../core/errors.js';
import { abortError } from '../core/signal.js';

const kAheadBytes = 4 << 20;
const kNearEndBytes = 1 << 20;

export class ResponseBody {
  private readonly held: Uint8Array[] = [];
  private heldBytes = 0;
  private received = 0;
  private ended = false;
  private failure: unknown;
  private onChange = () => {};
  private readonly reader: ReadableStreamDefaultReader<Uint8Array> | undefined;

  /** expected: the size that the server announced, if any. */
  constructor(
    private readonly file: string,
    private readonly url: string,
    private readonly response: Response,
    private readonly expected: number | undefined,
    private readonly signal: AbortSignal,
  ) {
    this.reader = response.body?.getReader();
    this.pump().catch((error) => {
      this.failure = error;
      this.change({ ended: true });
    });
  }

  async *chunks(): AsyncGenerator<Uint8Array> {
    try {
      for (;;) {
        const chunk = this.held.shift();
        if (chunk) {
          this.heldBytes -= chunk.length;
          this.change();
          yield chunk;
        } else if (this.ended) {
          if (this.failure !== undefined) throw this.failure;
          return;
        } else {
          await this.changed();
        }
      }
    } finally {
      await this.reader?.cancel().catch(() => {});
    }
  }

  private change({ ended = false } = {}): void {
    this.ended ||= ended;
    const { onChange } = this;
    this.onChange = () => {};
    onChange();
  }

  private changed(): Promise<void> {
    return new Promise((resolve) => {
      const { onChange } = this;
      this.onChange = () => {
        onChange();
        resolve();
      };
    });
  }

  private failed(how: string, cause?: unknown): NetworkError {
    return new NetworkError(`${this.file}: ${how} (${this.url})`, this.url, this.response.status, { cause });
  }

  private async pump(): Promise<void> {
    for (;;) {
      const chunk = await this.next();
      if (chunk === undefined || (chunk.length === 0 && !this.reader)) break;
      this.held.push(chunk);
      this.heldBytes += chunk.length;
      this.received += chunk.length;
      if (this.expected !== undefined && this.received > this.expected) {
        throw this.failed(`expected ${this.expected} bytes as the server announced, found more (is the transfer compressed?)`);
      }
      this.change();
      while (this.heldBytes > kAheadBytes && (this.expected ?? 0) - this.received > kNearEndBytes) await this.changed();
    }
    if (this.expected !== undefined && this.received !== this.expected) {
      throw this.failed(`expected ${this.expected} bytes as the server announced, found ${this.received}`);
    }
    this.change({ ended: true });
  }

  private async next(): Promise<Uint8Array | undefined> {
    try {
      if (this.reader) return (await this.reader.read()).value;
      return this.received > 0 ? undefined : new Uint8Array(await this.response.arrayBuffer());
    } catch (cause) {
      if (this.signal.aborted) throw abortError(this.signal);
      throw this.failed(
        `the connection broke after ${this.received}${this.expected === undefined ? '' : ` of ${this.expected}`} bytes`,
        cause,
      );
    }
  }
}
