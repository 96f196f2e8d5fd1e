// text-generation: a decoder continues a text or a chat, as in transformers' pipeline of that name.
import { withFacts } from '../core/facts.js';
import { checkChat, chooseTemplate, contextOf, continueChat, kChatRules, renderChat } from '../tokenizer/chat_template.js';
import { describe, InputError } from '../core/errors.js';
import { kGenerateRules, readGenerateOptions } from '../generation/generation_config.js';
import { env } from '../core/env.js';
import type { ChatPlan } from '../generation/calls/chat_plan.js';
import type { Chat, ChatMessage } from '../tokenizer/types.js';
import type { PlainFormats } from '../generation/response_format.js';
import type { ChatDelta, GeneratedText, GenerateOptions, TextGenerationOptions } from '../generation/generation_types.js';
import { ownCopy, readOptions, type Rules } from '../core/options.js';
import { stream, streamObjects } from '../generation/stream.js';
import { kWatchRules, TokenWatch } from '../generation/token_watch.js';
import type { Call, Context, Task, TaskEngine } from '../engine/task.js';
import { generateAll, guideOf, kFiller, newText, ownOf, textOf, withTexts, type TextItem } from './generate_all.js';

/** Set by tools/bundle.mjs: whether this is a worker's script, which has no caller's side. */
declare const __WATTN_IN_WORKER__: boolean;

const { add_generation_prompt: _, ...kChatOptions } = kChatRules;
const kRules: Rules = {
  adapter: 'any',
  ...kGenerateRules,
  ...kChatOptions,
  return_full_text: 'boolean',
  add_special_tokens: 'boolean',
  response_format: 'any',
  tool_choice: 'any',
  parallel_tool_calls: 'boolean',
  parse_response: 'boolean',
  logprobs: 'boolean',
  top_logprobs: 'index',
  delta_callback: 'function',
  ...kWatchRules,
  signal: 'signal',
};

interface Options extends GenerateOptions {
  return_full_text?: boolean;
  add_special_tokens?: boolean;
  formats?: PlainFormats | undefined;
  /** Special tokens that the text has, as what reads it looks for them. */
  marks?: readonly string[] | undefined;
}

/** The new text and tokens of each sequence. */
type Result = (GeneratedText & Read)[];

/** What `response_format` adds, until it is read on the caller's side. */
interface Read {
  /** The text that the format is of. */
  answer?: string;
  isCut?: boolean;
}

async function run(engine: TaskEngine, items: readonly TextItem[], options: Options, context: Context): Promise<Result[]> {
  const { formats, marks } = options;
  const text = textOf(engine, marks);
  const plan = readGenerateOptions(engine, options);
  const prompts = items.map((item) => text.encode(item, options));
  const guide = await guideOf(engine, formats, items.length, context, plan, false);
  if (guide) text.cleans = false; // the text is what the constraint says
  try {
    const results = await generateAll(engine, text, prompts, plan, context, prompts, guide);
    return results.map((sequences, i) =>
      sequences.map(({ tokens, reason, score, cached, likely }) => {
        const read = guide?.read(i, tokens);
        return {
          generated_text: read && !marks ? read.text : newText(text, prompts[i] as Int32Array, tokens),
          tokens: Array.from(tokens),
          prompt_tokens: prompts[i]!.length,
          cached_tokens: cached as number,
          finish_reason: reason,
          ...(likely && { logprobs: withTexts(engine, likely) }),
          ...(read && { answer: read.answer, isCut: reason !== 'stop' && (!read.isWhole || score < kFiller) }),
        };
      }),
    );
  } finally {
    guide?.end();
  }
}

type Prompt = string | Chat;

function toPrompts(input: unknown): { prompts: Prompt[]; isList: boolean } {
  if (typeof input === 'string') return { prompts: [input], isList: false };
  if (Array.isArray(input) && input.length > 0 && !Array.isArray(input[0]) && typeof input[0] === 'object') {
    checkChat('generate', input);
    return { prompts: [input], isList: false };
  }
  if (Array.isArray(input)) {
    const prompts = [...(input as Prompt[])];
    for (const each of prompts) if (typeof each !== 'string') checkChat('generate', each);
    return { prompts, isList: true };
  }
  throw new InputError(`generate: expected a text, a list of texts, or messages, found ${describe(input)}`);
}

/** The field of a chat's last message that is continued, if one is: by default the text of an assistant, as in Python. */
function continuedField(prompt: Prompt, wanted: boolean | string | null | undefined): string | undefined {
  if (typeof prompt === 'string') return undefined;
  const field = wanted ?? prompt.at(-1)?.role === 'assistant';
  return field === true ? 'content' : field || undefined;
}

/** What an assistant's message has beside its content. */
type Said = Pick<ChatMessage, 'tool_calls' | 'reasoning_content'>;

/** field: of continuedField. */
function withPrompt(
  prompt: Prompt,
  full: boolean,
  field: string | undefined,
  { generated_text, ...rest }: GeneratedText,
): GeneratedText<string | ChatMessage[]> {
  const result = (text: string | ChatMessage[]) => withFacts({ generated_text: text }, rest);
  if (!full) return result(generated_text);
  if (typeof prompt === 'string') return result(prompt + generated_text);
  const { tool_calls, reasoning_content } = rest;
  const said: Said = { ...(reasoning_content !== undefined && { reasoning_content }), ...(tool_calls && { tool_calls }) };
  if (field === undefined) return result([...(prompt as ChatMessage[]), { role: 'assistant', content: generated_text, ...said }]);
  return result(continueChat(prompt, field, generated_text) as ChatMessage[]);
}

export const textGeneration: Task<TextItem, Options, Result> = {
  head: 'causal_lm',

  async prepare([input, given], engine): Promise<Call<TextItem, Options, Result>> {
    given = readOptions('generate', given, kRules);
    const { prompts, isList } = toPrompts(input);
    const { signal, callback, streamer, stopping_criteria, return_full_text, continue_final_message, ...others } =
      given as TextGenerationOptions;
    const { logits_processor, assistant_model, logprobs, response_format: wanted, ...rest } = ownCopy(others);
    const { response_format: ofProcessor, ...own } = await ownOf(engine, logits_processor, assistant_model);
    const response_format = wanted ?? (ofProcessor as typeof wanted);
    const { tools, tool_choice, parallel_tool_calls, parse_response, delta_callback, ...other } = ownCopy(rest);
    const { chat_template, documents, chat_template_kwargs, ...options } = ownCopy(other);
    if (logprobs) options.top_logprobs ??= 0;
    else if (logprobs === false) delete options.top_logprobs;
    const fields = prompts.map((prompt) => continuedField(prompt, continue_final_message));
    const templates = engine.chatTemplates?.();
    const context = templates === undefined ? undefined : { ...contextOf(engine.files), templates };
    const begins = prompts.map((prompt, i) => typeof prompt !== 'string' && fields[i] === undefined);
    const { xml_tools, python_tools } = Object(chat_template_kwargs) as Record<string, unknown>;
    const wantsCalls = !env.compat && (tools?.length || xml_tools || python_tools);
    const reads = parse_response ?? Boolean(wantsCalls || delta_callback || (tool_choice && tool_choice !== 'auto'));
    let plan: ChatPlan | undefined;
    if ((reads || wantsCalls || tool_choice) && begins.includes(true) && !__WATTN_IN_WORKER__) {
      const { planChat } = await import('../generation/calls/chat_plan.js');
      const template = chooseTemplate((context ?? contextOf(engine.files)).templates, chat_template, tools);
      plan = planChat({ tools, tool_choice, parallel_tool_calls, chat_template_kwargs }, template, engine.files);
    }
    const forTemplate = plan ?? { tools, chat_template_kwargs };
    const items = await Promise.all(
      prompts.map(async (prompt, i) => {
        if (typeof prompt === 'string') return { text: prompt, isChat: false };
        const end = { continue_final_message: fields[i], add_generation_prompt: fields[i] === undefined };
        const { tools, chat_template_kwargs } = forTemplate;
        const options = { chat_template, tools, documents, chat_template_kwargs, ...end };
        return { text: await renderChat(engine.files, prompt, options as typeof end, context), isChat: true };
      }),
    );
    const full = return_full_text ?? true;
    const begun = items.map(({ text }, i) => (begins[i] ? text : undefined));
    // Deltas of texts, which have no messages, are their pieces.
    const plain = delta_callback && !plan && !__WATTN_IN_WORKER__ ? await import('../generation/calls/readers.js') : undefined;
    const readers =
      reads && plan
        ? plan.readers(begun, callback, delta_callback)
        : plain && new plain.Readers(undefined, begun, callback, delta_callback);
    let formats: PlainFormats | undefined;
    if (!__WATTN_IN_WORKER__) {
      const constraints = begun.map((text) => (text === undefined ? undefined : plan?.constraint(text)) ?? null);
      const read = response_format || constraints.some(Boolean) ? await import('../generation/response_format.js') : undefined;
      if (response_format && constraints.some((each) => each && !each.mayEnd)) {
        throw new InputError(
          "generate: expected one of the options 'response_format' and 'tool_choice', which both say what is written, found both",
        );
      }
      formats = await (response_format ? read?.readFormats(response_format, prompts.length) : read?.withModule(constraints));
    }
    const answers = formats && (await import('../generation/answers.js'));
    const heard = readers ? readers.callback : callback;
    const watched = { callback: heard, logprobs_callback: readers?.hearLogprobs, streamer, stopping_criteria };
    const watch = new TokenWatch('generate', watched, signal, prompts.length);
    return {
      items,
      options: {
        ...options,
        ...own,
        ...(formats && { formats }),
        ...(readers && plan?.marks.length && { marks: plan.marks }),
      } as Options,
      ...watch.call(),
      finish(results) {
        const lists = watch.finished(results, ({ text, ...rest }): Result => [{ generated_text: text, ...rest }]);
        const made = (list: GeneratedText[], i: number) =>
          (readers?.read(list, i) ?? list).map((one) => withPrompt(prompts[i] as Prompt, full, fields[i], one));
        const all = answers && formats ? answers.readAll(lists, formats, made) : lists.map(made);
        return isList ? all : all[0];
      },
    };
  },

  run,

  extend: (pipe, engine) => ({
    stream: (prompt: unknown, options?: unknown) => stream<string>(pipe, prompt, options),
    stream_objects: (prompt: unknown, options?: unknown) => streamObjects(pipe, prompt, options),
    stream_deltas: (prompt: unknown, options?: unknown) => stream<ChatDelta>(pipe, prompt, options, 'delta_callback'),
    save_prefix: async (...args: unknown[]) => (await import('./prefix_files.js')).savePrefixOf(engine, ...args),
    score: async (...args: unknown[]) => (await import('./score_call.js')).scoreOf(engine, ...args),
    load_prefix: async (...args: unknown[]) => (await import('./prefix_files.js')).loadPrefixInto(engine, ...args),
  }),
};
