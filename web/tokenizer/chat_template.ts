// Renders a chat with the model's chat_template. The Jinja engine is @huggingface/jinja, provided by the page or program.
import { env } from '../core/env.js';
import { describe, InputError, UnsupportedError } from '../core/errors.js';
import type { Rules } from '../core/options.js';
import type { Chat, ChatMessage, ChatTemplateOptions, ChatTemplates } from './types.js';
import { kChatTemplate, readJson, readSpecial, tokenText, type NamedBytes } from '../source/model_files.js';
import { kSpecialTokens } from './config.js';
import { platform } from '../source/platform.js';

type RenderOptions = Pick<
  ChatTemplateOptions,
  'add_generation_prompt' | 'continue_final_message' | 'chat_template' | 'tools' | 'documents' | 'chat_template_kwargs'
>;

/** What a model or its tokenizer gives to every chat. */
export interface ChatContext {
  templates: ChatTemplates | null;
  special: Record<string, string>;
}

interface Environment {
  variables: Map<string, unknown>;
  lookupVariable?(name: string): unknown;
  set(name: string, value: unknown): void;
}
interface Interpreter {
  evaluate(node: unknown, environment: Environment): unknown;
}
interface Jinja {
  Template: new (source: string) => { render(values: Record<string, unknown>): string };
  /** What runs templates, one node of their syntax tree at a time. */
  Interpreter?: { prototype: Interpreter };
}

/** Steps that a template may take (most models' take 20 to 200 a message; a million take a few seconds), and more for each message. */
const kSteps = 1_000_000;
const kStepsPerMessage = 1_000;
/** Longest list that `range()` makes. */
const kLongestRange = 100_000;

// A page must name the package itself: importing it here would make bundlers require it for everyone.
const noJinja = (cause?: unknown) =>
  new UnsupportedError(
    'chat template: needs the package @huggingface/jinja: run `npm install @huggingface/jinja`, and in a page set env.jinja to its exports',
    { cause },
  );

function jinja(): Jinja {
  if (env.jinja !== undefined) return env.jinja as Jinja;
  try {
    const found = platform.jinja?.();
    if (found) return found as Jinja;
  } catch (cause) {
    throw noJinja(cause);
  }
  throw noJinja();
}

/** The template of a model, or several by name; null: none. Several are a list of { name, template }. */
function chatTemplates(files: readonly NamedBytes[]): ChatTemplates | null {
  const file = files.find(([name]) => name === kChatTemplate)?.[1];
  if (file) return new TextDecoder().decode(file);
  const own = readJson(files, 'tokenizer_config.json')?.chat_template;
  if (typeof own === 'string') return own;
  if (!Array.isArray(own)) return null;
  return Object.fromEntries(own.map((each) => [String(each?.name), String(each?.template)]));
}

/** The template of a call. given: a template, or the name of one. */
export function chooseTemplate(own: ChatTemplates | null, given: string | null | undefined, tools: unknown): string {
  const named = new Map(own !== null && typeof own === 'object' ? Object.entries(own) : []);
  if (given != null) return named.get(given) ?? given;
  const found = typeof own === 'string' ? own : ((tools ? named.get('tool_use') : undefined) ?? named.get('default'));
  if (found !== undefined) return found;
  const names = named.size > 0 ? `templates named ${[...named.keys()].join(', ')}` : 'none';
  throw new InputError(
    `chat template: expected chat_template in tokenizer_config.json, or chat_template.jinja, or the option 'chat_template', found ${names}`,
  );
}

/** The names that a template reads: those in its tags, without strings, comments and members (`message.role`). */
export function variablesOf(template: string): Set<string> {
  const tags = template.replace(/\{#[^]*?#\}/g, '').match(/\{\{[^]*?\}\}|\{%[^]*?%\}/g) ?? [];
  const code = tags.join('\n').replace(/'(?:\\[^]|[^'\\])*'|"(?:\\[^]|[^"\\])*"/g, ' ');
  return new Set(code.match(/(?<!\.\s*)(?<!\w)[A-Za-z_]\w*/g) ?? []);
}

export function checkChat(where: string, chat: unknown): asserts chat is Chat {
  if (!Array.isArray(chat) || chat.length === 0) {
    throw new InputError(`${where}: expected a list of messages, found ${describe(chat)}`);
  }
  const bad = chat.findIndex(
    (message) => typeof message?.role !== 'string' || (message.content === undefined && message.tool_calls === undefined),
  );
  if (bad >= 0) {
    throw new InputError(`${where}: expected messages { role, content }, found ${describe(chat[bad])} at index ${bad}`);
  }
}

/** Options of renderChat, for those that pass them on. */
export const kChatRules: Rules = {
  add_generation_prompt: 'boolean',
  continue_final_message: 'any',
  chat_template: 'string',
  tools: 'any',
  documents: 'any',
  chat_template_kwargs: 'any',
};

/** Jinja's range(), as Python's, with a limit. */
function range(...args: unknown[]): number[] {
  const [begin, end, step = 1] = (args.length > 1 ? args : [0, args[0]]) as [number, number, number?];
  const count = step === 0 ? NaN : Math.max(0, Math.ceil((end - begin) / step));
  if (!(count <= kLongestRange)) throw new Error(`range: expected at most ${kLongestRange} numbers, found ${count}`);
  return Array.from({ length: count }, (_, i) => begin + i * step);
}

/** Calls render, which must end after so many steps of the interpreter and knows our range() only. */
function withLimits(interpreter: Interpreter | undefined, most: number, render: () => string): string {
  if (!interpreter) return render();
  const { evaluate } = interpreter;
  let steps = 0;
  interpreter.evaluate = function (node, environment) {
    if (++steps > most) throw new Error(`expected a template that ends, found more than ${most} steps`);
    if (steps === 1) {
      environment.variables.delete('range');
      environment.set('range', range);
    }
    // Where a filter finds nothing (`first` of an empty list) the package has no value at all, where Jinja has one that is undefined.
    return evaluate.call(this, node, environment) ?? environment.lookupVariable?.('');
  };
  try {
    return render();
  } finally {
    interpreter.evaluate = evaluate;
  }
}

/** Marks where the last message's text ends. The space after it is gone if the template trims texts. */
const kMark = 'CONTINUED_FROM_HERE';

/** The last text of a field of the last message, and copies of the chat with more text after it. */
function endOf(chat: Chat, field: string): { text: string; add(more: string): Chat } {
  const last = chat.at(-1) as ChatMessage;
  const value = last[field];
  const withLast = (value: unknown) => [...chat.slice(0, -1), { ...last, [field]: value }] as Chat;
  if (typeof value === 'string') return { text: value, add: (more) => withLast(value + more) };
  const parts: readonly { text?: unknown }[] = Array.isArray(value) ? value : [];
  const at = parts.map((part) => typeof part?.text === 'string').lastIndexOf(true);
  if (at < 0) {
    const found = describe(value);
    throw new InputError(`chat template: continue_final_message: expected text in the last message's '${field}', found ${found}`);
  }
  const text = parts[at]?.text as string;
  return { text, add: (more) => withLast(parts.map((part, i) => (i === at ? { ...part, text: text + more } : part))) };
}

/** A copy of the chat with more text at the end of a field of its last message. */
export const continueChat = (chat: Chat, field: string, more: string): Chat => endOf(chat, field).add(more);

/** The rendered text up to the mark. A template that trims the message leaves no space before the mark either. */
function cutAtMark(rendered: string, text: string): string {
  const at = rendered.lastIndexOf(kMark);
  if (at < 0 || !rendered.slice(0, at).includes(text.trim())) {
    throw new InputError('chat template: continue_final_message: the template does not show the last message as it is');
  }
  return rendered[at + kMark.length] === ' ' ? rendered.slice(0, at) : rendered.slice(0, at).trimEnd();
}

export function contextOf(files: readonly NamedBytes[]): ChatContext {
  const json = readSpecial(files);
  const special = Object.fromEntries(kSpecialTokens.flatMap((name) => (name in json ? [[name, tokenText(json[name]) ?? '']] : [])));
  return { templates: chatTemplates(files), special };
}

/** files: those of the model or its tokenizer; context: what they say. */
export function renderChat(
  files: readonly NamedBytes[],
  chat: Chat,
  options: RenderOptions,
  { templates, special }: ChatContext = contextOf(files),
): string {
  checkChat('chat template', chat);
  const { add_generation_prompt = false, continue_final_message: continued, tools, documents } = options;
  if (continued && add_generation_prompt) {
    throw new InputError('chat template: expected one of continue_final_message and add_generation_prompt, found both');
  }
  const source = chooseTemplate(templates, options.chat_template, tools);
  const end = continued ? endOf(chat, continued === true ? 'content' : continued) : undefined;
  const messages = end?.add(`${kMark} `) ?? chat;
  // As in Python, templates are given null where there are no tools, and no members that are null.
  const variables = {
    ...special,
    messages: messages.map((message) => Object.fromEntries(Object.entries(message).filter(([, value]) => value != null))),
    add_generation_prompt,
    tools: tools ?? null,
    documents: documents ?? null,
    ...options.chat_template_kwargs,
  };
  const { Template, Interpreter } = jinja();
  try {
    const rendered = withLimits(Interpreter?.prototype, kSteps + kStepsPerMessage * chat.length, () =>
      new Template(source).render(variables),
    );
    return end ? cutAtMark(rendered, end.text) : rendered;
  } catch (cause) {
    if (cause instanceof InputError) throw cause;
    throw new InputError(`chat template: ${(cause as Error).message}`, { cause });
  }
}
