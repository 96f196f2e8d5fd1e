// Prompts in, sequences out, beside the engine: what all tasks that generate run.
import { InputError } from '../core/errors.js';
import { ownCopy } from '../core/options.js';
import type { AbortSignalLike } from '../core/types.js';
import { jobPace, runJob } from '../engine/job.js';
import { readConfig } from '../engine/labels.js';
import { alone, type Context, type OnPiece, type Piece, type TaskEngine } from '../engine/task.js';
import type { CallersOptions } from '../generation/callers_options.js';
import type { GeneratedSequence } from '../generation/generated_sequence.js';
import type { GeneratedLogprob } from '../generation/generation_types.js';
import type { GenerationPlan } from '../generation/generation_config.js';
import type { Guide } from '../generation/guide.js';
import type { OwnSteps } from '../generation/own_steps.js';
import type { PlainFormats } from '../generation/response_format.js';
import type { TokenLogprob } from '../generation/rows/types.js';
import type { SeamPrefixes } from '../host/seam.js';
import { DecodeFlags } from '../host/wire.js';
import { readJson } from '../source/model_files.js';
import { readTokenizerConfig } from '../tokenizer/config.js';
import { makeDecodeStream } from '../tokenizer/decode_stream.js';

/** Set by tools/bundle.mjs: whether this is a worker's script, which has no caller's side. */
declare const __WATTN_IN_WORKER__: boolean;

export interface TextItem {
  text: string;
  /** Whether it is a chat, whose template adds special tokens. */
  isChat: boolean;
}

/** Sequences per run: enough to share each pass over the weights, few enough for their caches to fit. */
const kSequences = 8;
/** The score of a beam that only fills up their number: less than any text's. */
export const kFiller = -1e5;
/** Tokens of the prompt that are decoded with the new text, as its context. */
const kContext = 32;

export interface Text {
  encode(item: TextItem, options: { add_special_tokens?: boolean }): Int32Array;
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
export function newText(text: Text, prompt: Int32Array, tokens: Int32Array): string {
  const before = prompt.slice(-kContext);
  return text.decode([...before, ...tokens]).slice(text.decode(before).length);
}

/** Tokens with their texts, each as it is alone. */
export function withTexts(engine: TaskEngine, logprobs: readonly (readonly TokenLogprob[])[]): GeneratedLogprob[] {
  const known = new Map<number, string>();
  const named = ({ id, logprob }: TokenLogprob) => {
    let token = known.get(id);
    if (token === undefined) known.set(id, (token = engine.call((handle) => handle.decode([id], false, false)).text));
    return { token, id, logprob };
  };
  return logprobs.map(([own, ...top]) => ({ ...named(own as TokenLogprob), top_logprobs: top.map(named) }));
}

/** Reports new tokens as they are generated, with their text unless only ids are read. own: knows their probabilities. */
function makePieces(
  engine: TaskEngine,
  text: Text | undefined,
  prompts: readonly Int32Array[],
  own: OwnSteps | undefined,
  give: OnPiece,
) {
  const streams = prompts.map((prompt) => {
    const stream =
      text && makeDecodeStream({ decode: (ids) => text.decode(ids), ids: (ids) => ids as Iterable<number>, cleans: text.cleans });
    stream?.push(Array.from(prompt.slice(-kContext)));
    return stream;
  });
  const told = prompts.map(() => 0); // of their probabilities
  const likelyOf = (prompt: number) => {
    const likely = (text && own?.seen(prompt).likely?.slice(told[prompt])) ?? [];
    told[prompt]! += likely.length;
    return likely.length > 0 ? withTexts(engine, likely) : undefined;
  };
  const begins = false;
  return {
    add: (all: readonly Int32Array[]) =>
      all.forEach((own, prompt) => {
        const tokens = Array.from(own);
        if (tokens.length === 0) return;
        give({ piece: streams[prompt]?.push(tokens) ?? '', prompt, tokens, begins, logprobs: likelyOf(prompt) });
      }),
    end: () =>
      streams.forEach((stream, prompt) => give({ piece: stream?.end() ?? '', prompt, tokens: [], begins, logprobs: undefined })),
  };
}

/** Whether anything is done between steps, or between their phases. */
const needsSteps = ({ pauses, own }: GenerationPlan): boolean =>
  Boolean(pauses || own.max_time || own.prompt_lookup_num_tokens || own.assistant);

/** What info() says of prefixes, of a call that ended. */
export function notePrefixes(engine: TaskEngine, kept: SeamPrefixes, reused: number, computed: number): void {
  const whole = engine.whole ?? engine;
  const { prefixes: max_bytes = 0 } = whole.memory;
  const { kept_sequences: sequences, kept_tokens: tokens, kept_bytes } = kept;
  if (max_bytes > 0) whole.prefixes = { sequences, tokens, bytes: kept_bytes >>> 0, max_bytes, reused, computed };
}

/** Generates for several prompts together. before: the tokens before each new text; none for an encoder-decoder. end: when max_time is over. */
async function generateTogether(
  engine: TaskEngine,
  text: Text | undefined,
  prompts: readonly Int32Array[],
  plan: GenerationPlan,
  signal: AbortSignalLike | undefined,
  give: OnPiece | undefined,
  before: readonly Int32Array[],
  guide: Guide | undefined,
  hold: number | undefined,
  end: number,
): Promise<GeneratedSequence[][]> {
  const steps = needsSteps(plan) ? await import('../generation/own_steps.js') : undefined;
  const own = steps && (await steps.OwnSteps.make(engine, plan, prompts, before, signal, end, guide !== undefined));
  const options = ownCopy({ ...plan.seam, ...own?.seam });
  // Without a seed, equal prompts draw their own numbers; with one, a prompt has the text that it has alone.
  if (options.do_sample && options.seed === undefined) options.seeds = prompts.map(() => Math.floor(Math.random() * 2 ** 31));
  const holds = hold === undefined ? {} : { holds: prompts.map((_, i) => hold + i) };
  const pieces = give && makePieces(engine, text, before, own, give);
  before.forEach((ids, prompt) => {
    const tokens = ids === prompts[prompt] ? Array.from(ids) : [options.decoder_start_token_id as number];
    give?.({ piece: '', prompt, tokens, begins: true, logprobs: undefined });
  });
  try {
    const answer = await runJob(
      engine,
      jobPace(),
      signal,
      // A constraint speaks before the first step.
      (handle, steps) => handle.generate([...prompts], { ...options, ...holds }, guide ? 0 : steps),
      (pieces || guide || own) &&
        (({ phase, new_tokens, more }) => {
          if (phase !== 'none') return own?.show(phase);
          own?.follow(new_tokens);
          pieces?.add(new_tokens);
          if (!more) return;
          guide?.look(new_tokens);
          return own?.next(new_tokens);
        }),
      plan.keeps && null,
    );
    const { sequences, counts, reasons, scores, restored } = answer;
    const reused = restored.reduce((sum, count) => sum + count, 0);
    const read = prompts.reduce((sum, { length }) => sum + length, 0);
    notePrefixes(engine, answer, reused, read - reused);
    let at = 0;
    return Array.from(counts, (count, prompt) =>
      Array.from({ length: count }, () => {
        const [tokens, reason] = [sequences[at] as Int32Array, reasons[at] as GeneratedSequence['reason']];
        const cached = restored[prompt] as number;
        return { tokens, reason, score: scores[at++] as number, cached, ...own?.seen(prompt) };
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
  plan: GenerationPlan,
  { signal, onPiece }: Context,
  before = prompts,
  guide?: Guide,
  hold?: number,
): Promise<GeneratedSequence[][]> {
  const { num_beams = 1, num_return_sequences = 1 } = plan.seam;
  const end = performance.now() + (plan.own.max_time ?? Infinity) * 1000;
  if (onPiece && (num_beams > 1 || num_return_sequences > 1)) {
    throw new InputError('generate: streaming and stopping_criteria need num_beams 1 and num_return_sequences 1');
  }
  const count = Math.max(1, Math.floor(kSequences / Math.max(num_beams, num_return_sequences)));
  const out: GeneratedSequence[][] = [];
  for (let begin = 0; begin < prompts.length; begin += count) {
    const part = (list: readonly Int32Array[]) => list.slice(begin, begin + count);
    const give = onPiece && ((piece: Piece) => onPiece({ ...piece, prompt: begin + piece.prompt }));
    const run = () =>
      generateTogether(
        engine,
        text,
        part(prompts),
        plan,
        signal,
        give,
        part(before),
        guide?.part(begin, begin + count),
        hold === undefined ? undefined : hold + begin,
        end,
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
  { seam }: GenerationPlan,
  leadingSpace: boolean,
): Promise<Guide | undefined> {
  if (!formats) return undefined;
  const own = { ...formats, list: Array.from({ length: count }, (_, i) => formats.list[first + i] ?? null) };
  return (await import('../generation/guide.js')).Guide.make(engine, own, seam, leadingSpace);
}

/** What of a call's options stays on this thread; most calls have none. */
export async function ownOf(engine: unknown, logits_processor: unknown, assistant_model: unknown): Promise<CallersOptions> {
  if (__WATTN_IN_WORKER__ || (!logits_processor && !assistant_model)) return ownCopy({});
  const { callersOptions, checkAssistant } = await import('../generation/callers_options.js');
  const own = callersOptions(engine, { logits_processor, assistant_model });
  if (own.assistant) checkAssistant(engine as TaskEngine, own.assistant);
  return ownCopy(own);
}
