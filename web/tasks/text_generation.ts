// text-generation: a decoder continues a text or a chat, as in transformers' pipeline of that name.
import { withFacts } from '../core/facts.js';
import { makeDecodeStream } from '../tokenizer/decode_stream.js';
import { checkChat, chooseTemplate, contextOf, continueChat, kChatRules, renderChat } from '../tokenizer/chat_template.js';
import { describe, InputError } from '../core/errors.js';
import { kGenerateRules, readGenerateOptions } from '../generation/generation_config.js';
import { env } from '../core/env.js';
import type { ChatPlan } from '../generation/calls/chat_plan.js';
import type { Chat, ChatDelta, ChatMessage } from '../tokenizer/types.js';
import type { PlainFormats } from '../generation/response_format.js';
import type { Guide } from '../generation/guide.js';
import type { GeneratedText, GenerateOptions, TextGenerationOptions } from '../generation/generation_types.js';
import { jobPace, runJob } from '../engine/job.js';
import { alone } from '../engine/task.js';
import type { SeamGenerateOptions, SeamPrefixes, SeamSequence } from '../host/seam.js';
import { DecodeFlags } from '../host/wire.js';
import { ownCopy, readOptions, type Rules } from '../core/options.js';
import { stream, streamObjects } from '../generation/stream.js';
import { kWatchRules, TokenWatch } from '../generation/token_watch.js';
import type { AbortSignalLike } from '../core/types.js';
import { readTokenizerConfig } from '../tokenizer/config.js';
import { readJson } from '../source/model_files.js';
import { readConfig } from '../engine/labels.js';
import type { Call, Context, OnPiece, Piece, Task, TaskEngine } from '../engine/task.js';

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
  delta_callback: 'function',
  ...kWatchRules,
  signal: 'signal',
};

interface Item {
  text: string;
  /** Whether it is a chat, whose template adds special tokens. */
  isChat: boolean;
}

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

/** Sequences per run: enough to share each pass over the weights, few enough for their caches to fit. */
const kSequences = 8;
/** The score of a beam that only fills up their number: less than any text's. */
export const kFiller = -1e5;
/** Tokens of the prompt that are decoded with the new text, as its context. */
const kContext = 32;

export interface Text {
  encode(item: Item, options: Options): Int32Array;
  decode(ids: readonly number[] | Int32Array): string;
  cleans: boolean;
}

/** Tells which tokens a text with marks has: all but special ones that are no marks. */
function keepsMarks(engine: TaskEngine, marks: readonly string[]): (id: number) => boolean {
  const known = new Map<number, boolean>();
  return (id) => {
    let keeps = known.get(id);
    if (keeps === undefined) {
      const isSpecial = engine.call((handle) => handle.decode_pieces([id], DecodeFlags.skip_special_tokens)).pieces[0] === null;
      keeps = !isSpecial || marks.includes(engine.call((handle) => handle.decode([id], false, false)).text);
      known.set(id, keeps);
    }
    return keeps;
  };
}

/** marks: special tokens that texts have. */
export function textOf(engine: TaskEngine, marks: readonly string[] = []): Text {
  const keeps = marks.length > 0 ? keepsMarks(engine, marks) : undefined;
  const { clean_up_tokenization_spaces: cleans } = readTokenizerConfig(
    engine.files,
    engine.call((handle) => handle.describe_tokenizer()),
  );
  return {
    cleans,
    encode({ text, isChat }, options) {
      const add_special_tokens = options.add_special_tokens ?? !isChat;
      const { ids } = engine.call((handle) => handle.encode([text], undefined, ownCopy({ add_special_tokens })));
      const bos = readJson(engine.files, 'generation_config.json')?.bos_token_id ?? readConfig(engine).bos_token_id;
      return ids.length === 0 && Number.isInteger(bos) ? Int32Array.of(bos as number) : ids; // as in Python
    },
    decode(ids) {
      const own = keeps ? Int32Array.from(ids).filter(keeps) : Int32Array.from(ids);
      return engine.call((handle) => handle.decode(own, !keeps, this.cleans)).text;
    },
  };
}

/** The new text of a sequence: the text of prompt and new tokens without that of the prompt. */
function newText(text: Text, prompt: Int32Array, tokens: Int32Array): string {
  const before = prompt.slice(-kContext);
  return text.decode([...before, ...tokens]).slice(text.decode(before).length);
}

/** Reports new tokens as they are generated, with their text unless only ids are read. */
function makePieces(text: Text | undefined, prompts: readonly Int32Array[], give: OnPiece) {
  const streams = prompts.map((prompt) => {
    const stream =
      text &&
      makeDecodeStream(
        (ids) => text.decode(ids),
        (ids) => ids as Iterable<number>,
        text.cleans,
      );
    stream?.push(Array.from(prompt.slice(-kContext)));
    return stream;
  });
  return {
    add: (all: readonly Int32Array[]) =>
      all.forEach((own, prompt) => {
        const tokens = Array.from(own);
        if (tokens.length > 0) give({ piece: streams[prompt]?.push(tokens) ?? '', prompt, tokens });
      }),
    end: () => streams.forEach((stream, prompt) => give({ piece: stream?.end() ?? '', prompt, tokens: [] })),
  };
}

/** What info() says of prefixes, of a call that ended. */
export function notePrefixes(engine: TaskEngine, kept: SeamPrefixes, reused: number, computed: number): void {
  const whole = engine.whole ?? engine;
  const { prefixes: max_bytes = 0 } = whole.memory;
  const { kept_sequences: sequences, kept_tokens: tokens, kept_bytes } = kept;
  if (max_bytes > 0) whole.prefixes = { sequences, tokens, bytes: kept_bytes >>> 0, max_bytes, reused, computed };
}

/** Generates for several prompts together. before: the tokens before each new text; none for an encoder-decoder. */
async function generateTogether(
  engine: TaskEngine,
  text: Text | undefined,
  prompts: readonly Int32Array[],
  options: SeamGenerateOptions,
  signal: AbortSignalLike | undefined,
  give: OnPiece | undefined,
  before: readonly Int32Array[],
  guide: Guide | undefined,
  hold: number | undefined,
): Promise<SeamSequence[][]> {
  const holds = hold === undefined ? {} : { holds: prompts.map((_, i) => hold + i) };
  const pieces = give && makePieces(text, before, give);
  before.forEach((ids, prompt) => {
    const tokens = ids === prompts[prompt] ? Array.from(ids) : [options.decoder_start_token_id as number];
    give?.({ piece: '', prompt, tokens, begins: true });
  });
  try {
    const answer = await runJob(
      engine,
      jobPace(),
      signal,
      // A constraint speaks before the first step.
      (handle, steps) => handle.generate([...prompts], { ...options, ...holds }, guide ? 0 : steps),
      (pieces || guide) &&
        (({ new_tokens, more }) => {
          pieces?.add(new_tokens);
          if (more) guide?.look(new_tokens);
        }),
    );
    const { sequences, counts, reasons, scores, restored } = answer;
    const reused = restored.reduce((sum, count) => sum + count, 0);
    const read = prompts.reduce((sum, { length }) => sum + length, 0);
    notePrefixes(engine, answer, reused, read - reused);
    let at = 0;
    return Array.from(counts, (count, prompt) =>
      Array.from({ length: count }, () => {
        const [tokens, reason] = [sequences[at] as Int32Array, reasons[at] as SeamSequence['reason']];
        return { tokens, reason, score: scores[at++] as number, cached: restored[prompt] as number };
      }),
    );
  } finally {
    pieces?.end();
  }
}

/**
 * Generates for any number of prompts, a few at a time. before: as in generateTogether. hold: the number that holds what is kept of the first prompt,
 * of the next one the next.
 */
export async function generateAll(
  engine: TaskEngine,
  text: Text | undefined,
  prompts: readonly Int32Array[],
  options: SeamGenerateOptions,
  { signal, onPiece }: Context,
  before = prompts,
  guide?: Guide,
  hold?: number,
): Promise<SeamSequence[][]> {
  const { num_beams = 1, num_return_sequences = 1 } = options;
  if (onPiece && (num_beams > 1 || num_return_sequences > 1)) {
    throw new InputError('generate: streaming and stopping_criteria need num_beams 1 and num_return_sequences 1');
  }
  const count = Math.max(1, Math.floor(kSequences / Math.max(num_beams, num_return_sequences)));
  const out: SeamSequence[][] = [];
  for (let begin = 0; begin < prompts.length; begin += count) {
    const part = (list: readonly Int32Array[]) => list.slice(begin, begin + count);
    const give = onPiece && ((piece: Piece) => onPiece({ ...piece, prompt: begin + piece.prompt }));
    const run = () =>
      generateTogether(
        engine,
        text,
        part(prompts),
        options,
        signal,
        give,
        part(before),
        guide?.part(begin, begin + count),
        hold === undefined ? undefined : hold + begin,
      );
    out.push(...(await alone(engine, run)));
  }
  return out;
}

/** The constraints of some items of a call, one for each. */
export async function guideOf(
  engine: TaskEngine,
  formats: PlainFormats | undefined,
  count: number,
  { first }: Pick<Context, 'first'>,
  seam: SeamGenerateOptions,
  leadingSpace: boolean,
): Promise<Guide | undefined> {
  if (!formats) return undefined;
  const own = { ...formats, list: Array.from({ length: count }, (_, i) => formats.list[first + i] ?? null) };
  return (await import('../generation/guide.js')).Guide.make(engine, own, seam, leadingSpace);
}

async function run(engine: TaskEngine, items: readonly Item[], options: Options, context: Context): Promise<Result[]> {
  const { formats, marks } = options;
  const text = textOf(engine, marks);
  const seam = readGenerateOptions(engine, options);
  const prompts = items.map((item) => text.encode(item, options));
  const guide = await guideOf(engine, formats, items.length, context, seam, false);
  if (guide) text.cleans = false; // the text is what the constraint says
  try {
    const results = await generateAll(engine, text, prompts, seam, context, prompts, guide);
    return results.map((sequences, i) =>
      sequences.map(({ tokens, reason, score, cached }) => {
        const read = guide?.read(i, tokens);
        return {
          generated_text: read && !marks ? read.text : newText(text, prompts[i] as Int32Array, tokens),
          tokens: Array.from(tokens),
          prompt_tokens: prompts[i]!.length,
          cached_tokens: cached as number,
          finish_reason: reason,
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

export const textGeneration: Task<Item, Options, Result> = {
  head: 'causal_lm',

  async prepare([input, given], engine): Promise<Call<Item, Options, Result>> {
    given = readOptions('generate', given, kRules);
    const { prompts, isList } = toPrompts(input);
    const { signal, callback, streamer, stopping_criteria, return_full_text, continue_final_message, response_format, ...rest } =
      given as TextGenerationOptions;
    const { tools, tool_choice, parallel_tool_calls, parse_response, delta_callback, ...other } = ownCopy(rest);
    const { chat_template, documents, chat_template_kwargs, ...options } = ownCopy(other);
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
    const readers = reads ? plan?.readers(begun, callback, delta_callback) : undefined;
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
    const watch = new TokenWatch('generate', { callback: heard, streamer, stopping_criteria }, signal, prompts.length);
    return {
      items,
      options: { ...options, ...(formats && { formats }), ...(readers && plan?.marks.length && { marks: plan.marks }) } as Options,
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
    load_prefix: async (...args: unknown[]) => (await import('./prefix_files.js')).loadPrefixInto(engine, ...args),
  }),
};
