// What a pipeline makes of a text before its model computes anything: for an answer that looks wrong, most reasons are here.
import { describe, InputError } from '../core/errors.js';
import { readOptions } from '../core/options.js';
import type { AnyEngine } from '../engine/engine.js';
import { readJson } from '../source/model_files.js';
import type { ExplainItem, Tokenized } from './explain_task.js';
import type { ExplainedText, ExplainedToken, ExplainTextOptions } from '../engine/explain_types.js';

const where = 'explain';
const kSentence = 'config_sentence_transformers.json';
/** More tokens for each word than a vocabulary has that was made for a text. */
const kManyPieces = 3;
const kEncoderDecoders = ['text2text-generation', 'translation', 'summarization'];

const plural = (count: number, what: string) => `${count} ${what}${count === 1 ? '' : 's'}`;

/** The names of pooling in the folder of sentence-transformers' module; null: there is none. */
function poolingOf(files: AnyEngine['files']): string[] | null {
  const [name] = files.find(([file]) => /(^|\/)\d+_[A-Za-z]*Pooling\/config\.json$/.test(file)) ?? [];
  const config = name === undefined ? undefined : readJson(files, name);
  if (!config) return null;
  if (typeof config['pooling_mode'] === 'string') return [config['pooling_mode']];
  const kFlag = /^pooling_mode_(.*?)(_tokens?)?$/;
  return Object.entries(config)
    .filter(([key, value]) => value === true && kFlag.test(key))
    .map(([key]) => (key === 'pooling_mode_mean_sqrt_len_tokens' ? 'mean_sqrt_len_tokens' : key.replace(kFlag, '$1')));
}

/** Words of any language, those of Intl.Segmenter where it is there. */
function countWords(text: string): number {
  const { Segmenter } = Intl as Partial<typeof Intl>;
  if (!Segmenter) return text.split(/\s+/).filter((word) => word !== '').length;
  return [...new Segmenter(undefined, { granularity: 'word' }).segment(text)].filter(({ isWordLike }) => isWordLike).length;
}

/** What stands before the text: an option, or the model's default. */
function promptOf(engine: AnyEngine, { prompt, prompt_name }: ExplainTextOptions): string {
  if (typeof prompt === 'string' && typeof prompt_name === 'string')
    throw new InputError(`${where}: expected one of the options 'prompt' and 'prompt_name', found both`);
  if (typeof prompt === 'string') return prompt;
  const { prompts } = engine.info;
  const given = readJson(engine.files, kSentence)?.['default_prompt_name'];
  const name = prompt_name ?? (typeof given === 'string' ? given : undefined);
  if (name === undefined) return '';
  if (Object.hasOwn(prompts, name)) return prompts[name] as string;
  throw new InputError(
    `${where}: option 'prompt_name': expected one of ${Object.keys(prompts).join(', ') || 'none, as the model has no prompts'}, found '${name}'`,
  );
}

function tokensOf({ ids, tokens, offsets, sequence_ids, unknown_id }: Tokenized, prompt: string): ExplainedToken[] {
  return Array.from(ids, (id, i) => {
    const of = sequence_ids[i] as number;
    const [start, end] = [offsets[2 * i] as number, offsets[2 * i + 1] as number];
    const token = { id, token: tokens[i] as string, unknown: id === unknown_id && of >= 0 };
    if (of < 0) return { ...token, part: 'special', start: null, end: null };
    if (of === 1) return { ...token, part: 'text_pair', start, end };
    if (start < prompt.length) return { ...token, part: 'prompt', start, end: Math.min(end, prompt.length) };
    return { ...token, part: 'text', start: start - prompt.length, end: end - prompt.length };
  });
}

/** The same in Python. */
function pythonOf(task: string, engine: AnyEngine): string {
  const asked = `'MODEL'`;
  if (task === 'feature-extraction') {
    return engine.info.pooled
      ? `SentenceTransformer(${asked}).encode(text)`
      : `AutoModel.from_pretrained(${asked})(**AutoTokenizer.from_pretrained(${asked})(text, return_tensors='pt')).last_hidden_state`;
  }
  if (task === 'text-ranking') return `CrossEncoder(${asked}).predict([(query, text)])`;
  if (task === 'sparse-encoding') return `SparseEncoder(${asked}).encode(text)`;
  return `pipeline('${task}', ${asked})(text)`;
}

interface Seen {
  text: string;
  read: Tokenized;
  engine: AnyEngine;
  found: Omit<ExplainedText, 'notes'>;
}

/** What is true of a text, or of how a model was loaded, and its sentence. */
const kNotes: ((seen: Seen) => string | false | undefined)[] = [
  ({ text }) => text.trim() === '' && 'The text is empty: the answer is that of the special tokens alone.',
  ({ found: { tokens_untruncated, tokens, left_out } }) =>
    left_out !== '' &&
    `The text has ${tokens_untruncated} tokens, and the model reads ${tokens.length}: its last ${plural(left_out.length, 'character')} are cut off. To get an error instead, set on_overflow: 'error'.`,
  ({ found: { unknown } }) =>
    unknown > 0 &&
    `${(100 * unknown).toFixed(0)} % of the tokens are unknown to the vocabulary, which all look the same to the model.`,
  ({ found: { tokens_per_word } }) =>
    tokens_per_word > kManyPieces &&
    `A word is cut into ${tokens_per_word.toFixed(1)} tokens on average: the vocabulary was made for another language or other texts.`,
  ({ text, read, found: { tokens } }) => {
    const words = tokens.filter(({ part, token }) => part === 'text' && !read.specials.includes(token));
    const upper = words.filter(({ start, end }) => /\p{Lu}/u.test(text.slice(start as number, end as number)));
    return (
      upper.length > 0 &&
      upper.every(({ token }) => !/\p{Lu}/u.test(token)) &&
      'The tokenizer removes case: "Apple" and "apple" are the same to this model.'
    );
  },
  ({ read, found: { tokens } }) => {
    const inside = tokens
      .filter(({ part, token, unknown }) => part !== 'special' && !unknown && read.specials.includes(token))
      .map(({ token }) => token);
    return (
      inside.length > 0 &&
      `The text holds ${[...new Set(inside)].join(', ')}, which the model reads as special tokens; split_special_tokens: true reads them as text.`
    );
  },
  ({ engine: { info }, found: { task, prompt } }) => {
    const names = Object.entries(info.prompts).filter(([, value]) => value !== '');
    return (
      task === 'feature-extraction' &&
      prompt === '' &&
      names.length > 0 &&
      `The model was trained with prompts (${names.map(([name]) => name).join(', ')}), and this text has none: use encode_query and encode_document, or the option prompt_name.`
    );
  },
  ({ engine: { info }, found: { task } }) => task === 'feature-extraction' && info.pooled_reason,
  ({ found: { task, normalize } }) =>
    task === 'feature-extraction' &&
    normalize === false &&
    'Vectors do not have unit length: compare them with cos_sim, not a dot product, or set normalize: true.',
  ({ engine: { info } }) =>
    info.dtype !== 'f32' &&
    `Weights are held in ${info.dtype}, so numbers differ a little from Python's; dtype: 'f32' has Python's within rounding.`,
  ({ engine: { info } }) => info.dtype_asked && `dtype: '${info.dtype_asked}' was requested, and '${info.dtype}' is the nearest.`,
  ({ engine: { info } }) =>
    info.original && `The weights are those of '${info.original}': the requested repository has only ONNX files.`,
  ({ engine: { info } }) => info.precision === 'fast' && "precision: 'fast' depends on the machine in its last bits.",
  ({ engine: { info } }) => info.device_reason && `Not on the GPU: ${info.device_reason}`,
  ({ engine: { adapters } }) => adapters?.active && `The adapter '${adapters.active}' is in use.`,
];

/** See `LoadedPipeline.explain`. */
export async function explain(
  engine: AnyEngine,
  task: string,
  text: unknown,
  options?: ExplainTextOptions | null,
): Promise<ExplainedText> {
  if (typeof text !== 'string') throw new InputError(`${where}: expected a text, found ${describe(text)}`);
  const own = readOptions(where, options ?? {}, {
    text_pair: 'string',
    prompt: 'string',
    prompt_name: 'string',
    max_length: 'count',
    split_special_tokens: 'boolean',
    signal: 'signal',
  });
  const { info } = engine;
  const embeds = task === 'feature-extraction';
  if (!embeds && (own.prompt ?? own.prompt_name) !== undefined)
    throw new InputError(`${where}: options 'prompt' and 'prompt_name': expected 'feature-extraction', found '${task}'`);
  const prompt = embeds ? promptOf(engine, own as ExplainTextOptions) : '';
  const most = kEncoderDecoders.includes(task) ? (info.max_source_length ?? info.max_length) : info.max_length;
  const item: ExplainItem = {
    text: prompt + text,
    text_pair: own.text_pair ?? undefined,
    max_length: Math.min(own.max_length ?? most, most),
    split_special_tokens: own.split_special_tokens ?? false,
  };
  const [read] = (await engine.run('explain', [item], {}, own.signal ?? undefined)) as [Tokenized];
  const tokens = tokensOf(read, prompt);
  const ofText = tokens.filter(({ part }) => part === 'text');
  const tokens_untruncated = read.untruncated[0] as number;
  const isCut = tokens_untruncated > tokens.length;
  const words = countWords(text.slice(0, Math.max(0, ...ofText.map(({ end }) => end as number))));
  const found: Omit<ExplainedText, 'notes'> = {
    task,
    tokens,
    tokens_untruncated,
    left_out: isCut && own.text_pair === undefined ? text.slice(Math.max(0, ...ofText.map(({ end }) => end as number))) : '',
    unknown: read.unknown[0] as number,
    tokens_per_word: words === 0 ? 1 : ofText.length / words,
    prompt,
    pooling: embeds ? (info.pooled ? poolingOf(engine.files) : []) : null,
    normalize: embeds ? info.normalize : null,
    dtype: info.dtype,
    tokenizer: read.info,
    python: pythonOf(task, engine),
  };
  const seen: Seen = { text, read, engine, found };
  const notes = kNotes.map((note) => note(seen)).filter((note) => typeof note === 'string') as string[];
  if (isCut && own.text_pair !== undefined)
    notes.unshift(`Both texts together have ${tokens_untruncated} tokens, and the model reads ${tokens.length} of them.`);
  return { ...found, notes };
}
