// The bytes of a response body, read ahead of the consumer.
//
// Node 22 to 24 end the whole process, by an uncatchable assertion in undici (its issue 5360). That happens when a server closes the connection while
// the last 128 kB of a body are unread. A body that is opened early, like the weights while small files still arrive, must not be left unread.
// So reading continues until much is buffered, and never pauses near the end.
//
// A body that breaks or stalls goes on with a request for its rest, as long as there are tries.
import { NetworkError } from '../core/errors.js';
import { abortError } from '../core/signal.js';
import type { Tries } from './request.js';

const kAheadBytes = 4 << 20;
const kNearEndBytes = 1 << 20;
/** A download that got so far since it broke has all its tries again. */
const kProgressBytes = 1 << 16;

/** Another response for the rest of the body, whose first `skip` bytes are known; undefined: there is none of the same file. */
type OpenRest = (received: number) => Promise<{ response: Response; skip: number } | undefined>;

export class ResponseBody {
  private readonly held: Uint8Array[] = [];
  private heldBytes = 0;
  private received = 0;
  private ended = false;
  private failure: unknown;
  private onChange = () => {};
  private reader: ReadableStreamDefaultReader<Uint8Array> | undefined;
  /** Bytes at the beginning of the response that were received before. */
  private skip = 0;
  private given = false;
  /** Bytes that had arrived when it broke last. */
  private brokeAt = 0;

  /** expected: the size that the server announced, if any. */
  constructor(
    private readonly file: string,
    private readonly url: string,
    private response: Response,
    private readonly expected: number | undefined,
    private readonly tries: Tries,
    private readonly openRest: OpenRest,
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
      this.given = true;
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
    const why = (cause as { message?: unknown } | undefined)?.message;
    return new NetworkError(`${this.file}: ${how} (${this.url})${why ? `: ${why}` : ''}`, this.url, this.response.status, {
      cause,
    });
  }

  private async pump(): Promise<void> {
    for (;;) {
      const chunk = await this.next();
      if (chunk === undefined) break;
      this.held.push(chunk);
      this.heldBytes += chunk.length;
      this.received += chunk.length;
      if (this.received - this.brokeAt >= kProgressBytes) this.tries.renew();
      if (this.expected !== undefined && this.received > this.expected) {
        throw this.failed(`expected ${this.expected} bytes as the server announced, found more (is the transfer compressed?)`);
      }
      this.change();
      while (this.heldBytes > kAheadBytes && (this.expected ?? 0) - this.received > kNearEndBytes) await this.changed();
    }
    this.change({ ended: true });
  }

  /** The next bytes, of this response or of one for the rest; undefined at the end. */
  private async next(): Promise<Uint8Array | undefined> {
    for (;;) {
      let error: NetworkError;
      try {
        const chunk = await this.tries.unstalled(this.read());
        if (chunk && (chunk.length > 0 || this.reader)) {
          const passed = Math.min(this.skip, chunk.length);
          this.skip -= passed;
          if (chunk.length > passed) return chunk.subarray(passed);
          continue;
        }
        if (this.expected === undefined || this.received >= this.expected) return undefined;
        error = this.failed(`expected ${this.expected} bytes as the server announced, found ${this.received}`);
      } catch (cause) {
        const of = this.expected === undefined ? '' : ` of ${this.expected}`;
        error = this.failed(`the connection broke after ${this.received}${of} bytes`, cause);
      }
      const { signal } = this.tries;
      if (signal?.aborted) throw abortError(signal);
      if (!(await this.goOn())) throw error;
    }
  }

  private async goOn(): Promise<boolean> {
    void this.reader?.cancel().catch(() => {});
    this.brokeAt = this.received;
    if (this.given || !(await this.tries.again())) return false;
    const rest = await this.openRest(this.received).catch(() => undefined);
    const { signal } = this.tries;
    if (signal?.aborted) throw abortError(signal);
    if (!rest) return false;
    this.response = rest.response;
    this.skip = rest.skip;
    this.reader = rest.response.body?.getReader();
    return true;
  }

  private async read(): Promise<Uint8Array | undefined> {
    if (this.reader) return (await this.reader.read()).value;
    return this.received > 0 ? undefined : new Uint8Array(await this.response.arrayBuffer());
  }
}
