// The readers of the answers of one call.
import type { ChatDelta } from '../../tokenizer/types.js';
import type { GeneratedText } from '../generation_types.js';
import type { MessageReader } from './message_reader.js';

/** The readers of the answers to chats, and what is told of them as they come. */
export class Readers {
  constructor(
    private readonly make: (prompt: string) => MessageReader,
    private readonly prompts: readonly (string | undefined)[], // of chats that begin a message
    private readonly give: ((piece: string, prompt: number) => void) | null | undefined,
    private readonly giveDelta: ((delta: ChatDelta, prompt: number) => void) | null | undefined,
  ) {
    this.list = prompts.map((prompt) => (prompt === undefined ? undefined : make(prompt)));
  }
  private readonly list: (MessageReader | undefined)[];

  /** For `callback`. undefined: nobody listens. */
  get callback(): ((piece: string, prompt: number) => void) | undefined {
    if (!this.give && !this.giveDelta) return undefined;
    return (piece, prompt) => {
      const reader = this.list[prompt];
      this.tell(reader ? reader.push(piece) : { content: piece }, prompt);
    };
  }
  private tell(delta: ChatDelta | undefined, prompt: number): void {
    if (!delta) return;
    if (delta.content !== undefined) this.give?.(delta.content, prompt);
    this.giveDelta?.(delta, prompt);
  }
  read(list: readonly GeneratedText[], prompt: number): GeneratedText[] {
    return list.map((one, i) => {
      const own = this.prompts[prompt];
      const reader = i === 0 ? this.list[prompt] : own !== undefined && this.make(own);
      if (!reader) return one;
      const { message, delta } = reader.end(one.generated_text);
      if (i === 0 && this.callback) this.tell(delta, prompt);
      const { content, ...said } = message;
      return { ...one, generated_text: content, ...said };
    });
  }
}
