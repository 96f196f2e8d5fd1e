// OpenAI's routes: embeddings, chat completions, models.
import { randomUUID } from 'node:crypto';
import { describe } from '../core/errors.js';
import type { Rules } from '../core/options.js';
import type { ChatMessage, ResponseFormat, TextGenerationOptions } from '../entries/index.js';
import { HttpError, wrongRequest } from './http_error.js';
import type { Continued } from './models.js';
import { checkWhole, jsonOf, readBody, readInputs, servedAs, tokensOf, type Route, type RouteSettings } from './routes.js';

const kEmbeddings = '/v1/embeddings';
const kChat = '/v1/chat/completions';

const wrong = (message: string, param: string, code?: string) => wrongRequest('openai', message, param, code);

/** A server has one model; a request that names another would get the answer of the wrong one. */
function checkModel(model: string | undefined, name: string): void {
  if (model === undefined || model === name) return;
  throw new HttpError(404, `model: expected '${name}', which is served here, found '${model}'`, {
    param: 'model',
    code: 'model_not_found',
  });
}

interface EmbeddingsBody {
  input: unknown;
  model?: string;
  encoding_format?: 'float' | 'base64';
  dimensions?: number;
  prompt_name?: string;
}

const kEmbeddingsRules: Rules = {
  input: 'any',
  model: 'string',
  encoding_format: ['float', 'base64'],
  dimensions: 'count',
  user: 'string',
  prompt_name: 'string',
};

const base64 = ({ buffer, byteOffset, byteLength }: Float32Array) =>
  `"${Buffer.from(buffer as ArrayBuffer, byteOffset, byteLength).toString('base64')}"`;

const embeddings = (settings: RouteSettings): Route['run'] =>
  async function (body, signal) {
    const given = readBody<EmbeddingsBody>('openai', kEmbeddings, body, kEmbeddingsRules);
    const { batches, name, info } = servedAs('openai', kEmbeddings, settings.served, 'feature-extraction');
    checkModel(given.model, name);
    const texts = readInputs('openai', 'input', given.input, settings);
    const { dimensions: truncate_dim, prompt_name } = given;
    if (truncate_dim !== undefined && truncate_dim > info.hidden_size)
      throw wrong(`dimensions: expected at most ${info.hidden_size}, found ${truncate_dim}`, 'dimensions');
    const answers = await batches.ask(texts, { normalize: true, truncate_dim, prompt_name }, signal);
    checkWhole('openai', 'input', answers, settings.autoTruncate);
    const toText = given.encoding_format === 'base64' ? base64 : jsonOf;
    const data = answers.map(({ result }, i) => `{"object":"embedding","index":${i},"embedding":${toText(result)}}`);
    const tokens = tokensOf(answers);
    const usage = `{"prompt_tokens":${tokens},"total_tokens":${tokens}}`;
    return `{"object":"list","data":[${data.join(',')}],"model":${JSON.stringify(name)},"usage":${usage}}`;
  };

interface ChatBody {
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
  response_format?: ResponseFormat | null;
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
  response_format: 'any',
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
  tools: isEmpty,
  tool_choice: (value) => value === 'none' || value === 'auto',
  functions: isEmpty,
  function_call: (value) => value === 'none' || value === 'auto',
  parallel_tool_calls: () => true, // there are no calls
  logit_bias: (value) => Object.keys(Object(value)).length === 0,
  logprobs: (value) => value === false,
  top_logprobs: (value) => value === 0,
  frequency_penalty: (value) => value === 0,
  presence_penalty: (value) => value === 0,
  modalities: (value) => Array.isArray(value) && value.every((each) => each === 'text'),
  audio: () => false,
  prediction: () => false,
  reasoning_effort: () => false,
  verbosity: () => false,
  web_search_options: () => false,
};

function readChat(body: unknown): ChatBody {
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

const kRoles = ['system', 'developer', 'user', 'assistant'];

/** Messages of texts. Members that are null are those of an answer that is sent back. */
function readMessages(messages: unknown): ChatMessage[] {
  if (!Array.isArray(messages) || messages.length === 0)
    throw wrong(`messages: expected a list of messages, found ${isEmpty(messages) ? 'an empty list' : describe(messages)}`, 'messages'); // prettier-ignore
  return messages.map((message, i) => {
    const where = `messages[${i}]`;
    const { role, content, name: _name, ...others } = Object(message) as Record<string, unknown>;
    const other = Object.entries(others).find(([, value]) => value !== null && value !== undefined && !isEmpty(value));
    if (other) throw wrong(`${where}.${other[0]}: not supported here`, 'messages', 'unsupported_parameter');
    if (typeof role !== 'string' || !kRoles.includes(role))
      throw wrong(`${where}.role: expected one of ${kRoles.join(', ')}, found ${describe(role)}`, 'messages');
    const parts: unknown[] = Array.isArray(content) ? content : [{ type: 'text', text: content }];
    const texts = parts.map((part) => {
      const { type, text } = Object(part) as { type?: unknown; text?: unknown };
      if (type === 'text' && typeof text === 'string') return text;
      const found = type === 'text' ? describe(text) : `a part of type ${describe(type)}`;
      throw wrong(`${where}.content: expected text, found ${found}`, 'messages');
    });
    return { role: role === 'developer' ? 'system' : role, content: texts.join('') };
  });
}

function readStops(stop: unknown): string[] {
  const stops: unknown[] = Array.isArray(stop) ? stop : stop === undefined ? [] : [stop];
  if (stops.every((each) => typeof each === 'string' && each !== '')) return stops as string[];
  throw wrong(`stop: expected a text or a list of texts, found ${describe(stop)}`, 'stop');
}

/** Only what the request sets: the rest is the model's own. */
function generateOptions(given: ChatBody): TextGenerationOptions {
  const { temperature, top_p, top_k, seed, n, repetition_penalty, chat_template_kwargs } = given;
  const stops = readStops(given.stop);
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
    response_format: given.response_format ?? undefined,
    chat_template_kwargs,
    continue_final_message: false,
  };
  return Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined));
}

function usageOf(made: readonly Continued[]) {
  const { prompt_tokens = 0, cached_tokens = 0 } = made[0] ?? {};
  const completion_tokens = made.reduce((sum, { tokens }) => sum + tokens, 0);
  const total_tokens = prompt_tokens + completion_tokens;
  return { prompt_tokens, completion_tokens, total_tokens, prompt_tokens_details: { cached_tokens } };
}

const chat = (settings: RouteSettings): Route['run'] =>
  async function (body, signal) {
    const given = readChat(body);
    const { batches, name, info } = servedAs('openai', kChat, settings.served, 'text-generation');
    checkModel(given.model, name);
    const messages = readMessages(given.messages);
    const options = generateOptions(given);
    const head = (object: string) => ({
      id: `chatcmpl-${randomUUID()}`,
      object,
      created: Math.floor(Date.now() / 1000),
      model: name,
      system_fingerprint: info.build_id,
    });
    const ask = async (onPiece?: (piece: string) => void) => {
      const [answer] = await batches.ask([messages], { options, onPiece }, signal, true);
      return answer?.result as Continued[];
    };
    if (!given.stream) {
      const made = await ask();
      const choices = made.map(({ text, finish_reason }, index) => ({
        index,
        message: { role: 'assistant', content: text, refusal: null },
        logprobs: null,
        finish_reason,
      }));
      return JSON.stringify({ ...head('chat.completion'), choices, usage: usageOf(made) });
    }
    if ((given.n ?? 1) > 1) throw wrong(`n: expected 1 with stream, found ${given.n}`, 'n');
    const asksUsage = given.stream_options?.include_usage === true;
    return {
      async stream(send) {
        const common = head('chat.completion.chunk');
        const sendChunk = (choices: object[], usage: object | null = null) =>
          send(JSON.stringify({ ...common, choices, ...(asksUsage && { usage }) }));
        const choice = (delta: object, finish_reason: string | null = null) => [{ index: 0, delta, logprobs: null, finish_reason }];
        let hasBegun = false;
        const begin = () => {
          if (!hasBegun) sendChunk(choice({ role: 'assistant', content: '' }));
          hasBegun = true;
        };
        const made = await ask((piece) => {
          begin();
          if (piece !== '') sendChunk(choice({ content: piece }));
        });
        begin();
        sendChunk(choice({}, made[0]?.finish_reason));
        if (asksUsage) sendChunk([], usageOf(made));
        send('[DONE]');
      },
    };
  };

export function openAiRoutes(settings: RouteSettings): Record<string, Route> {
  const { served, created } = settings;
  const model = { id: served.name, object: 'model', created, owned_by: 'wattn' };
  const get = (body: object): Route => ({ method: 'GET', dialect: 'openai', run: () => JSON.stringify(body) });
  const post = (run: Route['run']): Route => ({ method: 'POST', dialect: 'openai', run });
  return {
    [kEmbeddings]: post(embeddings(settings)),
    [kChat]: post(chat(settings)),
    '/v1/models': get({ object: 'list', data: [model] }),
    [`/v1/models/${served.name}`]: get(model),
  };
}
