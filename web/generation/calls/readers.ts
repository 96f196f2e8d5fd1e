// The readers of the answers of one call.
import type { ChatDelta, GeneratedLogprob, GeneratedText } from '../generation_types.js';
import type { MessageReader } from './message_reader.js';

/** The readers of the answers to chats, and what is told of them as they come. */
export class Readers {
  constructor(
    private readonly make: ((prompt: string) => MessageReader) | undefined, // undefined: no prompt begins a message
    private readonly prompts: readonly (string | undefined)[], // of chats that begin a message
    private readonly give: ((piece: string, prompt: number) => void) | null | undefined,
    private readonly giveDelta: ((delta: ChatDelta, prompt: number) => void) | null | undefined,
  ) {
    this.list = prompts.map((prompt) => (prompt === undefined ? undefined : make?.(prompt)));
    this.likely = prompts.map(() => []);
  }
  private readonly likely: GeneratedLogprob[][]; // not told yet
  private readonly list: (MessageReader | undefined)[];

  /** For `callback`. undefined: nobody listens. */
  get callback(): ((piece: string, prompt: number) => void) | undefined {
    if (!this.give && !this.giveDelta) return undefined;
    return (piece, prompt) => {
      const reader = this.list[prompt];
      this.tell(reader ? reader.push(piece) : { content: piece }, prompt);
    };
  }
  /** Takes the probabilities of tokens, for the next delta. undefined: nobody listens. */
  get hearLogprobs(): ((logprobs: readonly GeneratedLogprob[], prompt: number) => void) | undefined {
    if (!this.giveDelta) return undefined;
    return (logprobs, prompt) => void this.likely[prompt]!.push(...logprobs);
  }
  private tell(delta: ChatDelta | undefined, prompt: number): void {
    if (!delta) return;
    if (delta.content !== undefined) this.give?.(delta.content, prompt);
    const logprobs = this.likely[prompt]!.splice(0);
    this.giveDelta?.({ ...delta, ...(logprobs.length > 0 && { logprobs }) }, prompt);
  }
  read(list: readonly GeneratedText[], prompt: number): GeneratedText[] {
    return list.map((one, i) => {
      const own = this.prompts[prompt];
      const reader = i === 0 ? this.list[prompt] : own !== undefined && this.make?.(own);
      const read = reader ? reader.end(one.generated_text) : undefined;
      // Tokens without a text, such as the one that ends it, may be left.
      if (i === 0 && this.callback) this.tell(read?.delta ?? (this.likely[prompt]!.length > 0 ? {} : undefined), prompt);
      if (!read) return one;
      const { message } = read;
      const { content, ...said } = message;
      return { ...one, generated_text: content, ...said };
    });
  }
}
