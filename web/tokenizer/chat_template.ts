// Renders a chat with the model's chat_template. The Jinja engine is @huggingface/jinja, provided by the page or program.
import { env } from '../core/env.js';
import { describe, InputError, UnsupportedError } from '../core/errors.js';
import type { Chat } from './types.js';
import { readJson, specialToken, type NamedBytes } from '../source/model_files.js';
import { platform } from '../source/platform.js';

interface Jinja {
  Template: new (source: string) => { render(values: Record<string, unknown>): string };
}

// A page must name the package itself: importing it here would make bundlers require it for everyone.
const noJinja = (cause?: unknown) =>
  new UnsupportedError(
    'chat template: needs the package @huggingface/jinja: run `npm install @huggingface/jinja`, and in a page set env.jinja to its exports',
    { cause },
  );

async function loadJinja(): Promise<Jinja> {
  if (env.jinja !== undefined) return env.jinja as Jinja;
  try {
    const found = await platform.jinja?.();
    if (found) return found as Jinja;
  } catch (cause) {
    throw noJinja(cause);
  }
  throw noJinja();
}

/** The default template. Several templates are a list of { name, template }. */
function templateOf(files: readonly NamedBytes[], config: Record<string, unknown>): string {
  const file = files.find(([name]) => name === 'chat_template.jinja')?.[1];
  if (file) return new TextDecoder().decode(file);
  const own = config.chat_template;
  if (typeof own === 'string') return own;
  const listed = Array.isArray(own) ? own.find((each) => each?.name === 'default')?.template : undefined;
  if (typeof listed === 'string') return listed;
  throw new InputError(
    `chat template: expected chat_template in tokenizer_config.json, or chat_template.jinja, found ${describe(own)}`,
  );
}

export function checkChat(where: string, chat: unknown): asserts chat is Chat {
  if (!Array.isArray(chat) || chat.length === 0) {
    throw new InputError(`${where}: expected a list of messages, found ${describe(chat)}`);
  }
  const bad = chat.findIndex((message) => typeof message?.role !== 'string' || message.content === undefined);
  if (bad >= 0) {
    throw new InputError(`${where}: expected messages { role, content }, found ${describe(chat[bad])} at index ${bad}`);
  }
}

/** files: those of the model or its tokenizer. variables: the template's variables beside the messages. */
export async function renderChat(files: readonly NamedBytes[], chat: Chat, variables: Record<string, unknown>): Promise<string> {
  checkChat('chat template', chat);
  const config = readJson(files, 'tokenizer_config.json') ?? {};
  const { chat_template, ...rest } = variables;
  const source = typeof chat_template === 'string' ? chat_template : templateOf(files, config);
  const tokens = Object.keys(config).filter((name) => /^(bos|eos|unk|pad|cls|sep|mask)_token$/.test(name));
  const { Template } = await loadJinja();
  try {
    const special = Object.fromEntries(tokens.map((name) => [name, specialToken(files, name) ?? '']));
    return new Template(source).render({ ...special, messages: chat, ...rest });
  } catch (cause) {
    throw new InputError(`chat template: ${(cause as Error).message}`, { cause });
  }
}
