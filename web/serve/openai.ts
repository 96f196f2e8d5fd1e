// OpenAI's routes: embeddings, chat completions, models.
import { randomUUID } from 'node:crypto';
import type { Rules } from '../core/options.js';
import type { ChatDelta, TextGenerationOptions, ToolCall } from '../entries/index.js';
import type { GeneratedLogprob, TokenProbability } from '../generation/generation_types.js';
import { generateOptions, kChat, readChat, readMessages } from './chat_request.js';
import { HttpError, wrongRequest } from './http_error.js';
import type { Continued } from './models.js';
import { checkWhole, jsonOf, readBody, readInputs, servedAs, tokensOf, type Route, type RouteSettings } from './routes.js';

const kEmbeddings = '/v1/embeddings';

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

function usageOf(made: readonly Continued[]) {
  const { prompt_tokens = 0, cached_tokens = 0 } = made[0] ?? {};
  const completion_tokens = made.reduce((sum, { tokens }) => sum + tokens, 0);
  const total_tokens = prompt_tokens + completion_tokens;
  return { prompt_tokens, completion_tokens, total_tokens, prompt_tokens_details: { cached_tokens } };
}

/** A call as OpenAI has it: with its arguments as JSON. */
const asJson = ({ id, type, function: own }: ToolCall) => ({
  id,
  type,
  function: { name: own.name, arguments: JSON.stringify(own.arguments) },
});

/** Tokens and their logarithms as OpenAI has them. */
function logprobsOf(tokens: readonly GeneratedLogprob[] | undefined) {
  const encoder = new TextEncoder();
  const named = ({ token, logprob }: TokenProbability) => ({ token, logprob, bytes: Array.from(encoder.encode(token)) });
  const content = tokens?.map((one) => ({ ...named(one), top_logprobs: one.top_logprobs.map(named) }));
  return content ? { content, refusal: null } : null;
}

/** Whether a chat shares no call. Without a seed, the texts of a call would be drawn alike. The other options make it several texts, or one that its length may cut. */
const isAlone = ({ do_sample, seed, num_return_sequences, response_format, tools }: TextGenerationOptions): boolean =>
  (do_sample !== false && seed === undefined) || [num_return_sequences, response_format, tools].some((each) => each !== undefined);

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
    const ask = async (onDelta?: (delta: ChatDelta) => void) => {
      const [answer] = await batches.ask([messages], { options, onDelta }, signal, onDelta !== undefined || isAlone(options));
      return answer?.result as Continued[];
    };
    if (!given.stream) {
      const made = await ask();
      const choices = made.map(({ text, finish_reason, tool_calls, reasoning_content, logprobs }, index) => ({
        index,
        message: {
          role: 'assistant',
          content: tool_calls && text === '' ? null : text,
          ...(reasoning_content !== undefined && { reasoning_content }),
          ...(tool_calls && { tool_calls: tool_calls.map(asJson) }),
          refusal: null,
        },
        logprobs: logprobsOf(logprobs),
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
        const choice = ({ logprobs, ...delta }: ChatDelta & { role?: string }, finish_reason: string | null = null) => [
          { index: 0, delta, logprobs: logprobsOf(logprobs), finish_reason },
        ];
        let hasBegun = false;
        const begin = () => {
          if (!hasBegun) sendChunk(choice({ role: 'assistant', content: '' }));
          hasBegun = true;
        };
        const made = await ask((delta) => {
          begin();
          sendChunk(choice(delta));
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
