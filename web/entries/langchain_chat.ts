// The chat model of wattn/langchain. It extends LangChain's own class, so it is loaded with LangChain when a program asks for it.
import type { CallbackManagerForLLMRun } from '@langchain/core/callbacks/manager';
import type { BaseLanguageModelInput, StructuredOutputMethodOptions } from '@langchain/core/language_models/base';
import { BaseChatModel, type BaseChatModelCallOptions, type BindToolsInput } from '@langchain/core/language_models/chat_models';
import { AIMessage, AIMessageChunk, type BaseMessage } from '@langchain/core/messages';
import { ChatGenerationChunk, type ChatResult } from '@langchain/core/outputs';
import { RunnableLambda, type Runnable } from '@langchain/core/runnables';
import { convertToOpenAITool } from '@langchain/core/utils/function_calling';
import { toJsonSchema } from '@langchain/core/utils/json_schema';
import { interopParse, isInteropZodSchema } from '@langchain/core/utils/types';
import { UnsupportedError } from '../core/errors.js';
import type { GeneratedText, TextGenerationOptions } from '../generation/generation_types.js';
import { endOf } from '../generation/stop_texts.js';
import type { ChatMessage, ToolCall, ToolChoice } from '../tokenizer/types.js';
import type { Load } from './given_model.js';

/** Options of calls: LangChain's, and the pipeline's under `options`. */
export interface ChatWattnCallOptions extends BaseChatModelCallOptions {
  /** Tools that the model may call: LangChain's tools, or OpenAI's objects. */
  tools?: BindToolsInput[];
  /** Constrains the answer, as the pipeline's `response_format`. */
  response_format?: TextGenerationOptions['response_format'];
  /** Options of the pipeline's call. */
  options?: TextGenerationOptions;
}

type Chunk = AsyncGenerator<ChatGenerationChunk>;

const where = 'ChatWattn';

function textOf(message: BaseMessage): string {
  const { content } = message;
  if (typeof content === 'string') return content;
  return content
    .filter(({ type }) => type !== 'reasoning' && type !== 'tool_use' && type !== 'tool_call')
    .map((part) => {
      if (part.type === 'text') return part['text'] as string;
      throw new UnsupportedError(
        `${where}: expected text in a message of '${message.getType()}', found a part of type '${part.type}'`,
      );
    })
    .join('');
}

const kRoles: Record<string, string> = { human: 'user', ai: 'assistant', system: 'system', developer: 'system', tool: 'tool' };

function toMessage(message: BaseMessage): ChatMessage {
  const type = message.getType();
  const role = kRoles[type] ?? (message as { role?: string }).role ?? type;
  const out: ChatMessage = { role, content: textOf(message) };
  const { tool_calls = [], tool_call_id } = message as Partial<AIMessage> & { tool_call_id?: string };
  if (tool_calls.length > 0) {
    out.tool_calls = tool_calls.map(({ id = '', name, args }): ToolCall => {
      return { id, type: 'function', function: { name, arguments: args } };
    });
  }
  const { reasoning_content } = message.additional_kwargs;
  if (type === 'ai' && typeof reasoning_content === 'string') out.reasoning_content = reasoning_content;
  if (type === 'tool') {
    if (tool_call_id !== undefined) out.tool_call_id = tool_call_id;
    if (message.name !== undefined) out['name'] = message.name;
  }
  return out;
}

function toChoice(choice: BaseChatModelCallOptions['tool_choice']): ToolChoice | undefined {
  if (choice === undefined) return undefined;
  if (choice === 'any') return 'required';
  if (typeof choice === 'object') return choice as ToolChoice;
  return ['auto', 'none', 'required'].includes(choice) ? (choice as ToolChoice) : { name: choice };
}

/** A LangChain chat model that runs locally. */
export class ChatWattn extends BaseChatModel<ChatWattnCallOptions> {
  constructor(
    private readonly load: Load<'text-generation'>,
    private readonly defaults: TextGenerationOptions,
  ) {
    super({});
  }

  /** The class name in LangChain, `'ChatWattn'`. */
  static override lc_name(): string {
    return 'ChatWattn';
  }
  /** The model type in LangChain, `'wattn'`. */
  override _llmType(): string {
    return 'wattn';
  }

  /** Returns the same model with tools that it may call. */
  override bindTools(
    tools: BindToolsInput[],
    kwargs?: Partial<ChatWattnCallOptions>,
  ): Runnable<BaseLanguageModelInput, AIMessageChunk, ChatWattnCallOptions> {
    return this.withConfig({ ...kwargs, tools } as Partial<ChatWattnCallOptions>) as never;
  }

  /**
   * Returns the same model with answers parsed as values of a schema. The text is constrained to that JSON; `method: 'functionCalling'` uses a tool call
   * instead.
   */
  override withStructuredOutput(
    schema: any,
    config: StructuredOutputMethodOptions<boolean> = {},
  ): Runnable<BaseLanguageModelInput, any> {
    if (config.method === 'functionCalling') return super.withStructuredOutput(schema, config as never);
    const json_schema = toJsonSchema(schema) as object;
    const bound = this.withConfig({ response_format: { type: 'json_schema', json_schema } });
    const parse = (message: BaseMessage): unknown => {
      const value: unknown = JSON.parse(textOf(message));
      return isInteropZodSchema(schema) ? interopParse(schema, value) : value;
    };
    if (!config.includeRaw) return bound.pipe(RunnableLambda.from(parse as never)) as never;
    return bound.pipe(RunnableLambda.from(((raw: BaseMessage) => ({ raw, parsed: parse(raw) })) as never)) as never;
  }

  private read(options: this['ParsedCallOptions']): { all: TextGenerationOptions; stops: readonly string[] } {
    const { tools, tool_choice, response_format, stop, signal, options: own } = options;
    const choice = toChoice(tool_choice);
    const all: TextGenerationOptions = {
      parse_response: true,
      ...this.defaults,
      ...own,
      ...(tools?.length && { tools: tools.map((tool) => convertToOpenAITool(tool as never)) }),
      ...(tools?.length && choice !== undefined && { tool_choice: choice }),
      ...(response_format && { response_format }),
      ...(stop?.length && { stop_strings: stop }),
      ...(signal && { signal }),
    };
    const stops = typeof all.stop_strings === 'string' ? [all.stop_strings] : (all.stop_strings ?? []);
    return { all, stops };
  }

  /** Generates the whole answer; `invoke` calls this. */
  override async _generate(
    messages: BaseMessage[],
    options: this['ParsedCallOptions'],
    runManager?: CallbackManagerForLLMRun,
  ): Promise<ChatResult> {
    const { all, stops } = this.read(options);
    const pipe = await this.load(options.signal);
    const [one] = await pipe(messages.map(toMessage), { ...all, return_full_text: false });
    const { generated_text, tool_calls = [], reasoning_content, prompt_tokens, tokens, finish_reason } = one as GeneratedText;
    const text = generated_text.slice(0, endOf(generated_text, stops));
    const message = new AIMessage({
      content: text,
      tool_calls: tool_calls.map(({ id, function: own }) => ({ type: 'tool_call', id, name: own.name, args: own.arguments })),
      additional_kwargs: reasoning_content === undefined ? {} : { reasoning_content },
      response_metadata: { finish_reason },
      usage_metadata: { input_tokens: prompt_tokens, output_tokens: tokens.length, total_tokens: prompt_tokens + tokens.length },
    });
    await runManager?.handleLLMNewToken(text);
    return { generations: [{ text, message }] };
  }

  /** Generates the answer in chunks; `stream` calls this. */
  override async *_streamResponseChunks(
    messages: BaseMessage[],
    options: this['ParsedCallOptions'],
    runManager?: CallbackManagerForLLMRun,
  ): Chunk {
    const { all } = this.read(options);
    const pipe = await this.load(options.signal);
    for await (const { content = '', reasoning_content, tool_calls = [] } of pipe.stream_deltas(messages.map(toMessage), all)) {
      const message = new AIMessageChunk({
        content,
        additional_kwargs: reasoning_content === undefined ? {} : { reasoning_content },
        tool_call_chunks: tool_calls.map(({ index, id, function: own }) => ({
          type: 'tool_call_chunk',
          index,
          ...(id !== undefined && { id }),
          ...(own.name !== undefined && { name: own.name }),
          args: own.arguments,
        })),
      });
      const chunk = new ChatGenerationChunk({ message, text: content });
      yield chunk;
      await runManager?.handleLLMNewToken(content, undefined, undefined, undefined, undefined, { chunk });
    }
  }
}
