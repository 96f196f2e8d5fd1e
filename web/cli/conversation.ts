// A conversation with a model: what is typed, what is answered, and what is kept.
import { createInterface, type Interface } from 'node:readline';
import { readFile } from 'node:fs/promises';
import { InputError } from '../core/errors.js';
import type { TextGenerationOptions, TextGenerationPipeline } from '../generation/generation_types.js';
import type { ChatMessage } from '../tokenizer/types.js';

const kCommandsHelp = `/clear        start a new conversation
/again        generate another answer to the last message
/file PATH    put the text of a file before the next message
/save PATH    save the conversation as JSON
/load PATH    continue a saved conversation
/help         show this list
/exit         exit (or Ctrl+D); Ctrl+C stops an answer
A line that ends with a backslash continues on the next line.
`;

/** Where a conversation takes place. */
export interface Terminal {
  input: NodeJS.ReadableStream;
  /** Answers. */
  output: NodeJS.WritableStream;
  /** What is said beside them. */
  notes: NodeJS.WritableStream;
  /** Whether somebody types: there is a prompt, and notes are written. */
  isInteractive: boolean;
  /** Writes a file as a whole. */
  save: (file: string, text: string) => Promise<unknown>;
}

export const kDim = '\u001b[2m';
export const kPlain = '\u001b[0m';

async function readHistory(file: string, mayLack = false): Promise<ChatMessage[]> {
  const json = await readFile(file, 'utf8').catch((cause: NodeJS.ErrnoException) => {
    if (mayLack && cause.code === 'ENOENT') return '[]';
    throw new InputError(`cannot read '${file}': ${cause.message}`, { cause });
  });
  let found: unknown;
  try {
    found = JSON.parse(json);
  } catch (cause) {
    throw new InputError(`'${file}': expected JSON, found ${(cause as Error).message}`, { cause });
  }
  const isMessage = (each: unknown) => typeof (each as ChatMessage | null)?.role === 'string';
  if (Array.isArray(found) && found.every(isMessage)) return found as ChatMessage[];
  throw new InputError(`'${file}': expected a list of messages with role and content, found something else`);
}

/** One conversation. */
export class Conversation {
  private messages: ChatMessage[] = [];
  /** Texts of files that the next message begins with. */
  private files: string[] = [];
  private answering: AbortController | undefined;

  constructor(
    private readonly generate: TextGenerationPipeline,
    private readonly terminal: Terminal,
    private readonly options: TextGenerationOptions,
    private readonly system: string | undefined,
    private readonly history: string | undefined,
  ) {}

  /** Reads what was said before. */
  async begin(): Promise<void> {
    this.clear();
    if (this.history === undefined) return;
    const before = await readHistory(this.history, true);
    if (before.length === 0) return;
    this.messages = before;
    this.note(`${before.length} messages from ${this.history}\n`);
  }

  async attach(file: string): Promise<void> {
    const found = await readFile(file, 'utf8').catch((cause: Error) => {
      throw new InputError(`cannot read '${file}': ${cause.message}`, { cause });
    });
    this.files.push(`${file}:\n\n${found.trim()}`);
    this.note(`${file}: ${found.length} characters, added to the next message\n`);
  }

  /** Whether the conversation goes on after this line. */
  async hear(line: string): Promise<boolean> {
    const [, command, rest = ''] = /^\/(\w+)\s*(.*?)\s*$/.exec(line) ?? [];
    switch (command) {
      case 'exit':
      case 'quit':
        return false;
      case 'help':
        this.terminal.output.write(kCommandsHelp);
        return true;
      case 'clear':
        this.clear();
        await this.keep();
        return true;
      case 'file':
        await this.attach(rest);
        return true;
      case 'save':
        await this.write(rest);
        return true;
      case 'load':
        this.messages = await readHistory(rest);
        return true;
      case 'again':
        if (this.messages.at(-1)?.role === 'assistant') this.messages.pop();
        if (this.messages.at(-1)?.role === 'user') await this.answer();
        return true;
      default:
        if (line.trim() === '' && this.files.length === 0) return true;
        this.messages.push({ role: 'user', content: [...this.files, line].join('\n\n') });
        this.files = [];
        await this.answer();
        return true;
    }
  }

  /** Ends the answer that is being written. False: there is none. */
  interrupt(): boolean {
    this.answering?.abort();
    return this.answering !== undefined;
  }

  private note(text: string): void {
    if (this.terminal.isInteractive) this.terminal.notes.write(`${kDim}${text}${kPlain}`);
  }

  private clear(): void {
    this.messages = this.system === undefined ? [] : [{ role: 'system', content: this.system }];
  }

  private async write(file: string): Promise<void> {
    await this.terminal.save(file, `${JSON.stringify(this.messages, null, 2)}\n`);
  }
  private async keep(): Promise<void> {
    if (this.history !== undefined) await this.write(this.history);
  }

  /** Forgets the oldest turn. False: only the last one is left. */
  private forget(): boolean {
    const first = this.messages.findIndex(({ role }) => role !== 'system');
    const next = this.messages.findIndex(({ role }, i) => i > first && role === 'user');
    if (next < 0) return false;
    this.messages.splice(first, next - first);
    return true;
  }

  private async answer(): Promise<void> {
    const { output } = this.terminal;
    const begun = performance.now();
    let said = '';
    let isThinking = false;
    const hear = ({ content = '', reasoning_content = '' }) => {
      if (reasoning_content) {
        isThinking = true;
        this.note(reasoning_content);
      }
      if (content && isThinking) this.note('\n');
      if (content) isThinking = false;
      said += content;
      output.write(content);
    };
    this.answering = new AbortController();
    const { signal } = this.answering;
    try {
      const told: TextGenerationOptions = this.options.parse_response
        ? { delta_callback: hear }
        : { callback: (content) => hear({ content }) };
      const [one] = await this.generate(this.messages, { ...this.options, ...told, return_full_text: false, signal });
      said = one.generated_text;
      const { tokens, prompt_tokens, cached_tokens = 0, finish_reason } = one;
      const seconds = (performance.now() - begun) / 1000;
      output.write('\n');
      this.note(
        `${tokens.length} tokens in ${seconds.toFixed(1)} s, after ${prompt_tokens} (${cached_tokens} of them cached)` +
          `${finish_reason === 'length' ? '; the answer ended at its length limit' : ''}\n`,
      );
    } catch (error) {
      if (signal.aborted) output.write('\n');
      else if (/context_length/.test((error as Error).message) && this.forget()) {
        this.note('the conversation is longer than context_length: its oldest turn was dropped\n');
        return await this.answer();
      } else {
        this.messages.pop();
        throw error;
      }
    } finally {
      this.answering = undefined;
    }
    this.messages.push({ role: 'assistant', content: said });
    await this.keep();
  }
}

/** The messages of an input, each of one line or of several that end with a backslash. */
async function* messagesOf(lines: Interface, ask: (isMore: boolean) => void): AsyncGenerator<string> {
  let begun: string[] = [];
  ask(false);
  for await (const line of lines) {
    if (line.endsWith('\\')) begun.push(line.slice(0, -1));
    else {
      yield [...begun.splice(0), line].join('\n');
      begun = [];
    }
    ask(begun.length > 0);
  }
  if (begun.length > 0) yield begun.join('\n');
}

/** Until the input ends, or somebody ends it. Errors of one message are said, and the conversation goes on, where somebody types. */
export async function converse(conversation: Conversation, terminal: Terminal): Promise<void> {
  const { input, output, notes, isInteractive } = terminal;
  const lines = createInterface({ input, ...(isInteractive && { output }), terminal: isInteractive });
  lines.on('SIGINT', () => {
    if (!conversation.interrupt()) lines.close();
  });
  const ask = (isMore: boolean) => {
    if (!isInteractive) return;
    lines.setPrompt(isMore ? '. ' : '> ');
    lines.prompt();
  };
  try {
    for await (const message of messagesOf(lines, ask)) {
      try {
        if (!(await conversation.hear(message))) return;
      } catch (error) {
        if (!isInteractive || !(error instanceof Error)) throw error;
        notes.write(`${error.message}\n`);
      }
    }
  } finally {
    lines.close();
  }
}
