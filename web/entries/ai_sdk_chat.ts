// The language model of wattn/ai-sdk: prompts as chats, and answers as parts. Loaded with its first call.
import { UnsupportedError } from '../core/errors.js';
import { TaskScope, throwIfAborted } from '../core/signal.js';
import { readBeginning } from '../generation/answers.js';
import type { ChatDelta, GeneratedText, TextGenerationOptions } from '../generation/generation_types.js';
import { endOf, untilStop } from '../generation/stop_texts.js';
import type { ChatMessage, ToolCall, ToolChoice } from '../tokenizer/types.js';
import type {
  AiContent,
  AiFinishReason,
  AiGenerateOptions,
  AiMetadata,
  AiStreamPart,
  AiToolCall,
  AiUsage,
  AiWarning,
  GenerateCallOptions,
  Part,
  Prompt,
} from './ai_sdk_types.js';
import type { Load } from './given_model.js';

const where = 'wattn.languageModel';

const refused = (role: string, type: string) =>
  new UnsupportedError(`${where}: expected text in a message of '${role}', found a part of type '${type}'`);

/** The result of a call, as the text that a model reads. */
function resultText({ output }: Part): string {
  const { type, value, reason } = Object(output) as { type?: string; value?: unknown; reason?: string };
  if (type === 'execution-denied') return `denied${reason ? `: ${reason}` : ''}`;
  if (typeof value === 'string') return value;
  if (type !== 'content') return JSON.stringify(value ?? null);
  return (value as Part[])
    .map((part) => {
      if (part.type !== 'text') throw refused('tool', part.type);
      return part.text;
    })
    .join('');
}

/** The messages of a chat: a result of each tool is one of its own. */
function chatOf(prompt: Prompt): ChatMessage[] {
  return prompt.flatMap(({ role, content }): ChatMessage[] => {
    if (typeof content === 'string') return [{ role, content }];
    const results = content.filter(({ type }) => type === 'tool-result');
    const tools = results.map((part): ChatMessage => {
      return { role: 'tool', tool_call_id: part['toolCallId'], name: part['toolName'], content: resultText(part) };
    });
    if (role === 'tool') return tools;
    const calls = content.filter(({ type }) => type === 'tool-call');
    const tool_calls = calls.map(({ toolCallId: id, toolName: name, input }): ToolCall => {
      return { id, type: 'function', function: { name, arguments: Object(typeof input === 'string' ? JSON.parse(input) : input) } };
    });
    const texts = (wanted: string) =>
      content
        .filter(({ type }) => type === wanted)
        .map(({ text }) => text)
        .join('');
    const other = content.find(({ type }) => !['text', 'reasoning', 'tool-call', 'tool-result'].includes(type));
    if (other) throw refused(role, other.type);
    const reasoning_content = texts('reasoning');
    const own = { ...(reasoning_content !== '' && { reasoning_content }), ...(tool_calls.length > 0 && { tool_calls }) };
    return [{ role, content: texts('text'), ...own }, ...tools];
  });
}

export const usageOf = (prompt?: number, answer?: number): AiUsage => ({
  inputTokens: { total: prompt, noCache: prompt, cacheRead: undefined, cacheWrite: undefined },
  outputTokens: { total: answer, text: answer, reasoning: undefined },
});

function warningsOf(call: GenerateCallOptions): AiWarning[] {
  const warnings: AiWarning[] = [];
  const warn = (feature: string, details: string) => warnings.push({ type: 'unsupported', feature, details });
  if (call.tools?.some(({ type }) => type !== 'function')) warn('tools', 'Only functions are supported, not provider tools.');
  if (call['reasoning'] !== undefined && call['reasoning'] !== 'provider-default')
    warn('reasoning', 'If the template has a variable for it, set providerOptions.wattn.chat_template_kwargs.');
  return warnings;
}

function toolOptionsOf({ tools, toolChoice }: GenerateCallOptions): TextGenerationOptions {
  const functions = (tools ?? []).filter(({ type }) => type === 'function');
  if (functions.length === 0) return {};
  const own = functions.map(({ name, description, inputSchema: parameters, strict }) => {
    return { type: 'function', function: { name, description, parameters, ...(strict !== undefined && { strict }) } };
  });
  const tool_choice: ToolChoice | undefined =
    toolChoice && (toolChoice.type === 'tool' ? { name: toolChoice.toolName } : toolChoice.type);
  return { tools: own, ...(tool_choice && { tool_choice }) };
}

/** Only what the caller sets: the rest is the model's own. */
function generateOptionsOf(call: GenerateCallOptions): TextGenerationOptions {
  const { maxOutputTokens, temperature, stopSequences, topP, topK, seed, responseFormat } = call;
  const out: TextGenerationOptions = toolOptionsOf(call);
  if (responseFormat?.type === 'json') {
    const { schema } = responseFormat;
    out.response_format = schema ? { type: 'json_schema', json_schema: schema } : { type: 'json_object' };
  }
  if (maxOutputTokens !== undefined) out.max_new_tokens = maxOutputTokens;
  if (stopSequences?.length) out.stop_strings = stopSequences;
  if (seed !== undefined) out.seed = seed;
  if (topP !== undefined) out.top_p = topP;
  if (topK !== undefined) out.top_k = topK;
  if (call.presencePenalty) out.presence_penalty = call.presencePenalty;
  if (call.frequencyPenalty) out.frequency_penalty = call.frequencyPenalty;
  if (temperature) out.temperature = temperature;
  if (temperature !== undefined) out.do_sample = temperature > 0;
  else if (topP !== undefined || topK !== undefined) out.do_sample = true;
  return out;
}

interface Answered {
  content: AiContent[];
  end: { finishReason: AiFinishReason; usage: AiUsage; providerMetadata?: AiMetadata };
}

/** tell: receives what is added to the message as it is made, its text up to a stop sequence. */
async function generate(
  load: Load<'text-generation'>,
  options: AiGenerateOptions | undefined,
  call: GenerateCallOptions,
  signal: AbortSignal | undefined,
  tell?: (delta: ChatDelta) => void,
): Promise<Answered> {
  const all = {
    parse_response: true,
    ...options,
    ...generateOptionsOf(call),
    ...call.providerOptions?.['wattn'],
  } as TextGenerationOptions;
  const stops = typeof all.stop_strings === 'string' ? [all.stop_strings] : (all.stop_strings ?? []);
  const pieces = tell && untilStop(stops, (content) => tell({ content }));
  const delta_callback =
    pieces &&
    (({ content, ...delta }: ChatDelta) => {
      if (delta.reasoning_content !== undefined || delta.tool_calls) tell(delta);
      if (content !== undefined) pieces.push(content);
    });
  const pipe = await load(signal);
  // JSON that the length ended is for the SDK to judge.
  const made = pipe(chatOf(call.prompt), {
    ...all,
    ...(delta_callback && { delta_callback }),
    return_full_text: false,
    signal,
  }).catch(readBeginning) as Promise<GeneratedText[]>;
  const [result] = await made;
  pieces?.end();
  const { generated_text, finish_reason: raw, prompt_tokens, tokens, tool_calls = [], reasoning_content } = result as GeneratedText;
  const unified = raw === 'length' ? 'length' : tool_calls.length > 0 ? 'tool-calls' : 'stop';
  const text = generated_text.slice(0, endOf(generated_text, stops));
  const calls = tool_calls.map(({ id, function: own }): AiToolCall => {
    return { type: 'tool-call', toolCallId: id, toolName: own.name, input: JSON.stringify(own.arguments) };
  });
  const content: AiContent[] = [
    ...(reasoning_content !== undefined ? [{ type: 'reasoning' as const, text: reasoning_content }] : []),
    ...(text !== '' || calls.length === 0 ? [{ type: 'text' as const, text }] : []),
    ...calls,
  ];
  const { logprobs } = result as GeneratedText;
  const providerMetadata = logprobs && { wattn: { logprobs } };
  const usage = usageOf(prompt_tokens, tokens.length);
  return { content, end: { finishReason: { unified, raw }, usage, ...(providerMetadata && { providerMetadata }) } };
}

export async function answer(load: Load<'text-generation'>, options: AiGenerateOptions | undefined, call: GenerateCallOptions) {
  const { content, end } = await generate(load, options, call, call.abortSignal);
  return { content, ...end, warnings: warningsOf(call) };
}

/** Makes the parts of a stream of what is added to a message. */
class StreamParts {
  private open: { type: 'text' | 'reasoning'; id: string } | undefined;
  private blocks = 0;
  private readonly begun = new Map<number, string>(); // ids of calls

  constructor(private readonly add: (part: AiStreamPart) => void) {}

  private block(type: 'text' | 'reasoning', delta: string): void {
    if (this.open?.type !== type) {
      this.close();
      this.open = { type, id: String(this.blocks++) };
      this.add({ type: `${type}-start`, id: this.open.id });
    }
    if (delta !== '') this.add({ type: `${type}-delta`, id: this.open.id, delta });
  }
  private close(): void {
    if (this.open) this.add({ type: `${this.open.type}-end`, id: this.open.id });
    this.open = undefined;
  }
  tell({ reasoning_content, content, tool_calls = [] }: ChatDelta): void {
    if (reasoning_content !== undefined) this.block('reasoning', reasoning_content);
    if (content !== undefined) this.block('text', content);
    for (const { index, id, function: own } of tool_calls) {
      if (id !== undefined) {
        this.close();
        this.begun.set(index, id);
        this.add({ type: 'tool-input-start', id, toolName: own.name as string });
      }
      this.add({ type: 'tool-input-delta', id: this.begun.get(index) as string, delta: own.arguments });
    }
  }
  /** content: the whole answer, whose calls come last. */
  end(content: readonly AiContent[]): void {
    if (this.blocks === 0 && this.begun.size === 0) this.block('text', '');
    this.close();
    for (const id of this.begun.values()) this.add({ type: 'tool-input-end', id });
    for (const part of content) if (part.type === 'tool-call') this.add(part);
  }
}

export function answerStream(
  load: Load<'text-generation'>,
  options: AiGenerateOptions | undefined,
  call: GenerateCallOptions,
): ReadableStream<AiStreamPart> {
  const scope = new TaskScope(call.abortSignal);
  const { signal } = scope;
  return new ReadableStream<AiStreamPart>({
    start(controller) {
      const add = (part: AiStreamPart) => {
        if (!signal.aborted) controller.enqueue(part);
      };
      const run = async () => {
        add({ type: 'stream-start', warnings: warningsOf(call) });
        const parts = new StreamParts(add);
        const { content, end } = await generate(load, options, call, signal, (delta) => parts.tell(delta));
        throwIfAborted(signal);
        parts.end(content);
        add({ type: 'finish', ...end });
      };
      const failed = (error: unknown) => {
        if (signal.aborted) return controller.error(error);
        add({ type: 'error', error });
        add({ type: 'finish', usage: usageOf(), finishReason: { unified: 'error', raw: undefined } });
        controller.close();
      };
      // Not returned: a stream cannot be read before its start has ended.
      void run()
        .then(() => controller.close(), failed)
        .finally(() => scope.close());
    },
    cancel: () => scope.close(),
  });
}
