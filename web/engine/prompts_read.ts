// Which prompts a worker has read, so that the next turn of a chat goes to the worker that keeps its beginning. Only the worker knows what it
// still keeps; here is what it was asked, as texts or token ids.

/** A text's characters or a prompt's ids. */
type Prompt = ArrayLike<unknown>;

/** Prompts remembered of a worker: those read last. */
const kRemembered = 64;

/** The prompts of a task's items: texts with what belongs to them, or ids. */
function promptsOf(items: readonly unknown[]): Prompt[] {
  return items.flatMap((item) => {
    const prompt = ArrayBuffer.isView(item) ? item : (Object(item) as { text?: unknown }).text;
    return typeof prompt === 'string' || ArrayBuffer.isView(prompt) ? [prompt as unknown as Prompt] : [];
  });
}

function commonLength(a: Prompt, b: Prompt): number {
  const most = Math.min(a.length, b.length);
  let length = 0;
  while (length < most && a[length] === b[length]) ++length;
  return length;
}

export class PromptsRead {
  private readonly last: Prompt[] = [];

  add(items: readonly unknown[]): void {
    this.last.push(...promptsOf(items));
    this.last.splice(0, this.last.length - kRemembered);
  }

  /** How much of these prompts' beginnings was read before: the sum of their longest beginnings, in characters or ids. */
  shared(items: readonly unknown[]): number {
    const longest = (prompt: Prompt) => this.last.reduce((most, old) => Math.max(most, commonLength(prompt, old)), 0);
    return promptsOf(items).reduce((sum, prompt) => sum + longest(prompt), 0);
  }
}
