// What `tools`, `tool_choice` and `parse_response` mean for the model at hand: what its template is given, how its answers are read, and which
// constraint they have. Loaded with the first chat that asks for one of them.
import { describe, InputError, UnsupportedError } from '../../core/errors.js';
import { readJson, type NamedBytes } from '../../source/model_files.js';
import { variablesOf } from '../../tokenizer/chat_template.js';
import type { ToolChoice } from '../../tokenizer/types.js';
import type { ChatDelta } from '../generation_types.js';
import type { PlainFormat } from '../response_format.js';
import { kFormats, kReasoning, type ReasoningMarks } from './formats.js';
import { MessageReader } from './message_reader.js';
import { Readers } from './readers.js';
import { mark, type Callable, type CallFormat, type Part } from './types.js';

export interface ChatWish {
  tools: readonly unknown[] | undefined;
  tool_choice: ToolChoice | undefined;
  parallel_tool_calls: boolean | undefined;
  chat_template_kwargs: Readonly<Record<string, unknown>> | undefined;
}

type Give<Told> = ((told: Told, prompt: number) => void) | null;

export interface ChatPlan {
  /** For the template. */
  tools: readonly unknown[] | undefined;
  chat_template_kwargs: Readonly<Record<string, unknown>> | undefined;
  /** Special tokens that the text is to have. */
  marks: readonly string[];
  /** Reads the answers to prompts, but those that go on with a message (undefined), and tells of them as they come. */
  readers(prompts: readonly (string | undefined)[], give?: Give<string>, giveDelta?: Give<ChatDelta>): Readers;
  /** The constraint of the answer to a prompt. */
  constraint(prompt: string): PlainFormat | undefined;
}

const where = 'generate';

/** Tools as OpenAI's objects, or as their functions alone. */
export function readTools(tools: readonly unknown[]): Callable[] {
  return tools.map((tool, i) => {
    const { type, function: inner } = Object(tool) as { type?: unknown; function?: unknown };
    const own = Object(inner ?? tool) as { name?: unknown; parameters?: unknown; strict?: unknown };
    const { name, parameters, strict } = own;
    if ((type !== undefined && type !== 'function' && inner !== undefined) || typeof name !== 'string' || name === '') {
      throw new InputError(
        `${where}: option 'tools': expected { type: 'function', function: { name, parameters } }, found ${describe(name === undefined ? tool : name)} at index ${i}`,
      );
    }
    if (parameters !== undefined && parameters !== null && (typeof parameters !== 'object' || Array.isArray(parameters))) {
      throw new InputError(
        `${where}: option 'tools': '${name}': parameters: expected a JSON Schema, found ${describe(parameters)}`,
      );
    }
    return { name, parameters: (parameters ?? {}) as Record<string, unknown>, strict: strict === true };
  });
}

/** `'required'` as all tools, a name as one; undefined: the model chooses. */
function chosen(choice: ToolChoice | undefined, tools: readonly Callable[]): readonly Callable[] | undefined {
  if (choice === undefined || choice === null || choice === 'auto' || choice === 'none') return undefined;
  if (tools.length === 0) throw new InputError(`${where}: option 'tool_choice': expected the option 'tools' beside it, found none`);
  if (choice === 'required') return tools;
  const name = typeof choice === 'object' ? ('function' in choice ? choice.function.name : choice.name) : undefined;
  const tool = tools.filter((each) => each.name === name);
  if (tool.length > 0) return tool;
  const names = tools.map((each) => `'${each.name}'`).join(', ');
  const found = describe(typeof name === 'string' ? name : choice);
  throw new InputError(
    `${where}: option 'tool_choice': expected 'auto', 'none', 'required' or { name } with one of ${names}, found ${found}`,
  );
}

const kKnown = new WeakMap<readonly NamedBytes[], Set<string>>();
/** The tokens that were added to a vocabulary. */
function addedTokens(files: readonly NamedBytes[]): Set<string> {
  let known = kKnown.get(files);
  if (!known) {
    const settings = Object.values(Object(readJson(files, 'tokenizer_config.json')?.added_tokens_decoder));
    const list = settings.length > 0 ? settings : Object.values(Object(readJson(files, 'tokenizer.json')?.added_tokens));
    known = new Set(list.map((each) => String(Object(each).content)));
    kKnown.set(files, known);
  }
  return known;
}

/** How a model writes calls and reasoning, by its template, or else by its vocabulary. */
export function formatOf(
  template: string,
  files: readonly NamedBytes[],
  given: (variable: string) => boolean,
): { calls: CallFormat | undefined; reasoning: ReasoningMarks | undefined; has(text: string): boolean } {
  const inTemplate = (text: string) => template.includes(text);
  const has = (text: string) => inTemplate(text) || addedTokens(files).has(text);
  const calls = [inTemplate, has].map((look) => kFormats.find((each) => each.fits(look, given))).find((each) => each);
  const reasoning = [inTemplate, has]
    .map((look) => kReasoning.find(({ open, close }) => look(open.trimEnd()) || look(close)))
    .find((each) => each);
  return { calls, reasoning, has };
}

export function planChat(wish: ChatWish, template: string, files: readonly NamedBytes[]): ChatPlan {
  const isNone = wish.tool_choice === 'none';
  const variables = { ...wish.chat_template_kwargs };
  if (isNone) for (const name of ['xml_tools', 'python_tools']) delete variables[name];
  let offered = isNone || !wish.tools?.length ? undefined : wish.tools;
  const own = [offered, variables['xml_tools'], variables['python_tools']].find(Array.isArray) as unknown[] | undefined;
  const all = own ? readTools(own) : [];
  const forced = chosen(wish.tool_choice, all);
  // SmolLM3's template has another name for them.
  const read = offered ? variablesOf(template) : undefined;
  if (read && !read.has('tools') && read.has('xml_tools')) {
    if (!('xml_tools' in variables) && !('python_tools' in variables)) variables['xml_tools'] = offered;
    offered = undefined;
  }
  const { calls, reasoning, has } = formatOf(template, files, (name) => Array.isArray(variables[name]));
  if (forced && !calls) {
    throw new UnsupportedError(
      `${where}: option 'tool_choice': expected a chat template or a vocabulary that shows how this model calls tools (${kFormats.map(({ name }) => name).join(', ')}), found none`,
    );
  }
  const isInside = (prompt: string) => reasoning !== undefined && prompt.trimEnd().endsWith(reasoning.open.trimEnd());
  const format = all.length > 0 ? calls : undefined;
  const isNamed = typeof wish.tool_choice === 'object' && wish.tool_choice !== null;
  const several = wish.parallel_tool_calls !== false && !isNamed;
  const plain = (part: Part, after: string, mayEnd: boolean): PlainFormat => {
    return { kind: 4, text: JSON.stringify(part), after, spaces: true, inOrder: false, isJson: false, mayEnd };
  };
  const reader = (prompt: string) => new MessageReader({ calls: format, reasoning, tools: all, isInside: isInside(prompt) });
  return {
    tools: offered,
    chat_template_kwargs: variables,
    marks: [...(format?.marks ?? []), ...(reasoning ? [reasoning.open.trimEnd(), reasoning.close] : [])],
    readers: (prompts, give, giveDelta) => new Readers(reader, prompts, give, giveDelta),
    constraint(prompt) {
      if (!format) return undefined;
      const begin = format.begins[0] as string;
      if (forced) {
        const part: Part = [...(begin === '' ? [] : [mark(begin)]), format.parts(forced, several, has)];
        if (!isInside(prompt)) return plain(part, '', false);
        return plain([{ any: ['', '\n', '\n\n'] }, part], reasoning?.close as string, false);
      }
      if (begin === '' || !all.some(({ strict }) => strict)) return undefined;
      return plain(format.parts(all, several, has), begin, true);
    },
  };
}
