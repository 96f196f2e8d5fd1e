// What a request for a chat completion says: OpenAI's body, as messages and options of the pipeline.
import { describe } from '../core/errors.js';
import type { Rules } from '../core/options.js';
import type { ChatMessage, ResponseFormat, TextGenerationOptions, ToolCall, ToolChoice } from '../entries/index.js';
import { readTools } from '../generation/calls/chat_plan.js';
import { wrongRequest } from './http_error.js';
import { readBody } from './routes.js';

export const kChat = '/v1/chat/completions';

const wrong = (message: string, param: string, code?: string) => wrongRequest('openai', message, param, code);

export interface ChatBody {
  messages: unknown;
  model?: string;
  stream?: boolean;
  stream_options?: { include_usage?: boolean };
  max_tokens?: number;
  max_completion_tokens?: number;
  stop?: unknown;
  temperature?: number;
  top_p?: number;
  top_k?: number;
  seed?: number;
  n?: number;
  repetition_penalty?: number;
  presence_penalty?: number | null;
  frequency_penalty?: number | null;
  logit_bias?: Record<string, number> | null;
  logprobs?: boolean | null;
  top_logprobs?: number | null;
  response_format?: ResponseFormat | null;
  tools?: readonly unknown[];
  tool_choice?: ToolChoice;
  parallel_tool_calls?: boolean;
  chat_template_kwargs?: Record<string, unknown>;
}

const kChatRules: Rules = {
  messages: 'any',
  model: 'string',
  stream: 'boolean',
  stream_options: 'any',
  max_tokens: 'count',
  max_completion_tokens: 'count',
  stop: 'any',
  temperature: '[0,2]',
  top_p: '(0,1]',
  top_k: 'count',
  seed: 'index',
  n: 'count',
  repetition_penalty: 'number',
  presence_penalty: '[-2,2]',
  frequency_penalty: '[-2,2]',
  logit_bias: 'any',
  logprobs: 'boolean',
  top_logprobs: 'index',
  response_format: 'any',
  tools: 'any',
  tool_choice: 'any',
  parallel_tool_calls: 'boolean',
  chat_template_kwargs: 'any',
};

/** These say who asks and how it is billed, and change no answer. */
const kAboutCaller = [
  'user',
  'metadata',
  'store',
  'service_tier',
  'safety_identifier',
  'prompt_cache_key',
  'prompt_cache_retention',
];

const isEmpty = (value: unknown) => Array.isArray(value) && value.length === 0;

/** What wattn does not do: the values that ask for nothing of it. */
const kRefused: Record<string, (value: any) => boolean> = {
  functions: isEmpty,
  function_call: (value) => value === 'none' || value === 'auto',
  modalities: (value) => Array.isArray(value) && value.every((each) => each === 'text'),
  audio: () => false,
  prediction: () => false,
  reasoning_effort: () => false,
  verbosity: () => false,
  web_search_options: () => false,
};

export function readChat(body: unknown): ChatBody {
  const own: Record<string, unknown> = { ...Object(body) };
  for (const [name, asksNothing] of Object.entries(kRefused)) {
    const value = own[name];
    if (value !== undefined && value !== null && !asksNothing(value))
      throw wrong(`${name}: not supported here, found ${JSON.stringify(value).slice(0, 80)}`, name, 'unsupported_parameter');
    delete own[name];
  }
  for (const name of kAboutCaller) delete own[name];
  return readBody<ChatBody>('openai', kChat, Array.isArray(body) || typeof body !== 'object' ? body : own, kChatRules);
}

const kRoles = ['system', 'developer', 'user', 'assistant', 'tool'];

/** Calls as clients send them back, with their arguments as JSON; chat templates want them as objects. */
function readCalls(where: string, calls: unknown): ToolCall[] | undefined {
  if (calls === undefined || calls === null || isEmpty(calls)) return undefined;
  if (!Array.isArray(calls)) throw wrong(`${where}: expected a list, found ${describe(calls)}`, 'messages');
  return calls.map((call, i): ToolCall => {
    const { id, function: own } = Object(call) as { id?: unknown; function?: unknown };
    const { name, arguments: given } = Object(own) as { name?: unknown; arguments?: unknown };
    if (typeof id !== 'string' || typeof name !== 'string')
      throw wrong(
        `${where}[${i}]: expected { id, type: 'function', function: { name, arguments } }, found ${describe(call)}`,
        'messages',
      );
    let value: unknown = given ?? {};
    try {
      if (typeof value === 'string') value = JSON.parse(value || '{}');
    } catch {
      value = undefined;
    }
    if (typeof value !== 'object' || value === null || Array.isArray(value))
      throw wrong(`${where}[${i}].function.arguments: expected a JSON object, found ${describe(given)}`, 'messages');
    return { id, type: 'function', function: { name, arguments: value } };
  });
}

/** Messages of texts. Members that are null are those of an answer that is sent back. */
export function readMessages(messages: unknown): ChatMessage[] {
  if (!Array.isArray(messages) || messages.length === 0)
    throw wrong(`messages: expected a list of messages, found ${isEmpty(messages) ? 'an empty list' : describe(messages)}`, 'messages'); // prettier-ignore
  const names = new Map<unknown, string>(); // of the functions that calls are of
  return messages.map((message, i) => {
    const where = `messages[${i}]`;
    const { role, content, name, tool_calls, tool_call_id, reasoning_content, ...others } = Object(message) as Record<
      string,
      unknown
    >;
    const other = Object.entries(others).find(([, value]) => value !== null && value !== undefined && !isEmpty(value));
    if (other) throw wrong(`${where}.${other[0]}: not supported here`, 'messages', 'unsupported_parameter');
    if (typeof role !== 'string' || !kRoles.includes(role))
      throw wrong(`${where}.role: expected one of ${kRoles.join(', ')}, found ${describe(role)}`, 'messages');
    const calls = role === 'assistant' ? readCalls(`${where}.tool_calls`, tool_calls) : undefined;
    for (const call of calls ?? []) names.set(call.id, call.function.name);
    const isLeftOut = calls !== undefined && (content === null || content === undefined);
    const parts: unknown[] = Array.isArray(content) ? content : [{ type: 'text', text: isLeftOut ? '' : content }];
    const texts = parts.map((part) => {
      const { type, text } = Object(part) as { type?: unknown; text?: unknown };
      if (type === 'text' && typeof text === 'string') return text;
      const found = type === 'text' ? describe(text) : `a part of type ${describe(type)}`;
      throw wrong(`${where}.content: expected text, found ${found}`, 'messages');
    });
    const called = names.get(tool_call_id) ?? (typeof name === 'string' ? name : undefined);
    return {
      role: role === 'developer' ? 'system' : role,
      content: texts.join(''),
      ...(calls && { tool_calls: calls }),
      ...(role === 'assistant' && typeof reasoning_content === 'string' && { reasoning_content }),
      ...(role === 'tool' && typeof tool_call_id === 'string' && { tool_call_id }),
      ...(role === 'tool' && called !== undefined && { name: called }),
    };
  });
}

function checkTools(tools: unknown): void {
  if (!Array.isArray(tools)) throw wrong(`tools: expected a list, found ${describe(tools)}`, 'tools');
  try {
    readTools(tools);
  } catch (error) {
    throw wrong((error as Error).message.replace("generate: option 'tools'", 'tools'), 'tools');
  }
}

function readStops(stop: unknown): string[] {
  const stops: unknown[] = Array.isArray(stop) ? stop : stop === undefined ? [] : [stop];
  if (stops.every((each) => typeof each === 'string' && each !== '')) return stops as string[];
  throw wrong(`stop: expected a text or a list of texts, found ${describe(stop)}`, 'stop');
}

const kMostAlternatives = 20;

/** The biases of tokens, which have their ids as names. */
function readBias(bias: Record<string, number> | null | undefined): [number[], number][] | undefined {
  const pairs = Object.entries(Object(bias) as Record<string, unknown>);
  const fits = ([id, value]: [string, unknown]) => /^\d{1,9}$/.test(id) && typeof value === 'number' && Math.abs(value) <= 100;
  const bad = pairs.find((pair) => !fits(pair));
  if (bad)
    throw wrong(`logit_bias: expected ids with numbers from -100 to 100, found '${bad[0]}': ${describe(bad[1])}`, 'logit_bias');
  return pairs.length > 0 ? pairs.map(([id, value]) => [[Number(id)], value as number]) : undefined;
}

/** How many alternatives are asked for beside each token; undefined: no logarithms are. */
function readAlternatives({ logprobs, top_logprobs, n }: ChatBody): number | undefined {
  const count = top_logprobs ?? 0;
  if (count > kMostAlternatives) throw wrong(`top_logprobs: expected at most ${kMostAlternatives}, found ${count}`, 'top_logprobs');
  if (count > 0 && !logprobs) throw wrong('top_logprobs: expected logprobs: true beside it', 'top_logprobs');
  if (!logprobs) return undefined;
  if ((n ?? 1) > 1) throw wrong(`logprobs: expected n = 1 beside it, found ${n}`, 'logprobs');
  return count;
}

/** Only what the request sets: the rest is the model's own. */
export function generateOptions(given: ChatBody): TextGenerationOptions {
  const { temperature, top_p, top_k, seed, n, repetition_penalty, chat_template_kwargs, tools, tool_choice } = given;
  const stops = readStops(given.stop);
  if (tools) checkTools(tools);
  const max_new_tokens = given.max_completion_tokens ?? given.max_tokens;
  const samples = temperature === undefined ? (top_p ?? top_k ?? seed) !== undefined || undefined : temperature > 0;
  const all = {
    max_new_tokens,
    stop_strings: stops.length > 0 ? stops : undefined,
    do_sample: samples,
    temperature: temperature || undefined,
    top_p,
    top_k,
    seed,
    num_return_sequences: n === 1 ? undefined : n,
    repetition_penalty,
    presence_penalty: given.presence_penalty || undefined,
    frequency_penalty: given.frequency_penalty || undefined,
    sequence_bias: readBias(given.logit_bias),
    top_logprobs: readAlternatives(given),
    response_format: given.response_format ?? undefined,
    chat_template_kwargs,
    tools: tools?.length ? tools : undefined,
    tool_choice: tools?.length || (tool_choice !== 'none' && tool_choice !== 'auto') ? (tool_choice ?? undefined) : undefined,
    parallel_tool_calls: given.parallel_tool_calls,
    parse_response: true,
    continue_final_message: false,
  };
  return Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined));
}
