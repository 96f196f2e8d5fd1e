// text2text-generation, translation and summarization: an encoder-decoder transforms texts. Results as in transformers.js, with the reason
// why they ended.
import { withFacts } from '../core/facts.js';
import { describe, InputError, UnsupportedError } from '../core/errors.js';
import { kGenerateRules, readGenerateOptions } from '../generation/generation_config.js';
import type { GeneratedText, GenerateOptions, Text2Text, TranslationOptions } from '../generation/generation_types.js';
import { ownCopy, readOptions, type Rules } from '../core/options.js';
import { readTexts } from '../core/texts.js';
import { readFields } from '../source/model_files.js';
import { readConfig } from '../engine/labels.js';
import { tokenOf } from '../tokenizer/config.js';
import type { Call, Context, Task, TaskEngine } from '../engine/task.js';
import { stream } from '../generation/stream.js';
import { generateAll, guideOf, kFiller, ownOf, textOf } from './generate_all.js';
import type { PlainFormats } from '../generation/response_format.js';
import { kWatchRules, TokenWatch } from '../generation/token_watch.js';
import type { Facts } from './predict.js';

const kRules: Rules = {
  ...kGenerateRules,
  adapter: 'any',
  on_overflow: ['truncate', 'error'],
  ...kWatchRules,
  signal: 'signal',
};
/** Set by tools/bundle.mjs: whether this is a worker's script, which has no caller's side. */
declare const __WATTN_IN_WORKER__: boolean;

const kLanguages: Rules = { src_lang: 'string', tgt_lang: 'string' };

interface Options extends GenerateOptions {
  on_overflow?: 'truncate' | 'error';
  /** The task's entry in config.json's task_specific_params. */
  ofTask: Record<string, unknown>;
  languages?: Languages;
  formats?: PlainFormats | undefined;
}

interface Result extends Facts {
  made: { text: string; tokens: number[]; finish_reason: 'eos' | 'stop' | 'length' | 'time'; answer?: string; isCut?: boolean }[];
}

type Params = Record<string, Record<string, unknown> | undefined>;

interface Languages {
  src_lang: string;
  tgt_lang: string;
  /** Whether the source's language is the first token; else it is the last one. */
  isFirst: boolean;
}

/** The classes of the model types whose tokenizers set languages. */
const kClasses: Readonly<Record<string, string>> = ownCopy({ mbart: 'MBartTokenizer', m2m_100: 'M2M100Tokenizer' });

/** Whether sources begin with their language, in tokenizers that set the languages of each call; undefined for others. */
function languageIsFirst(engine: Pick<TaskEngine, 'files'>): boolean | undefined {
  const settings = readFields(engine.files, 'tokenizer_config.json');
  const { tokenizer_class, model_type } = readConfig(engine);
  const named = settings['tokenizer_class'] ?? tokenizer_class ?? kClasses[String(model_type)];
  const name = String(named).replace(/Fast$/, '');
  if (name === 'NllbTokenizer') return settings['legacy_behaviour'] !== true;
  return name === 'MBart50Tokenizer' || name === 'M2M100Tokenizer' ? true : name === 'MBartTokenizer' ? false : undefined;
}

function languagesOf(task: string, isFirst: boolean, { src_lang, tgt_lang }: TranslationOptions): Languages {
  if (src_lang && tgt_lang) return { src_lang, tgt_lang, isFirst };
  throw new InputError(
    `${task}: expected src_lang and tgt_lang, which this model needs, such as 'eng_Latn', 'en_XX' or 'en', found none`,
  );
}

/** The token of a language, which is fra_Latn, fr_XX, or for fr of M2M-100 __fr__. */
function languageId(engine: TaskEngine, option: keyof TranslationOptions, language: string): number {
  const token = /^[a-z]+$/.test(language) ? `__${language}__` : language;
  const { id } = /^(__[a-z]|[a-z]+_[A-Z])/.test(token) ? engine.call((handle) => handle.token_to_id(token)) : { id: -1 };
  if (id >= 0) return id;
  throw new InputError(
    `translation: ${option}: expected a language of the tokenizer, such as 'eng_Latn', 'en_XX' or 'en', found '${language}'`,
  );
}

/** The parameters in config.json for this task; for translation, for this pair of languages. */
function paramsOf(task: string, params: Params, { src_lang, tgt_lang }: TranslationOptions): Record<string, unknown> {
  if (src_lang === undefined && tgt_lang === undefined) return params[task] ?? {};
  if (src_lang === undefined || tgt_lang === undefined) {
    throw new InputError(`${task}: expected src_lang and tgt_lang together, found '${src_lang ?? tgt_lang}' alone`);
  }
  const own = params[`translation_${src_lang}_to_${tgt_lang}`];
  if (own) return own;
  const known = Object.keys(params).filter((name) => name.startsWith('translation_')); // prettier-ignore
  const hint = known.length > 0 ? `this model has ${known.join(', ')}` : 'this model has one language pair: leave them out';
  throw new UnsupportedError(`${task}: src_lang '${src_lang}', tgt_lang '${tgt_lang}': ${hint}`);
}

/** The ids of a source, truncated to the model's limit. */
function encode(engine: TaskEngine, text: string, options: Options, number: number): Facts & { ids: Int32Array } {
  const { languages } = options;
  const { max_source_length = Infinity } = engine.call((handle) => handle.info());
  const { model_max_length } = engine.call((handle) => handle.describe_tokenizer());
  const limit = Math.min(max_source_length, model_max_length && model_max_length > 0 ? model_max_length : Infinity);
  const how = ownCopy({ add_special_tokens: !languages, max_length: limit - (languages ? 2 : 0) });
  const { ids, untruncated, unknown } = engine.call((handle) => handle.encode([text], undefined, how));
  const total = (untruncated[0] as number) + (languages ? 2 : 0);
  const whole = languages ? withLanguage(engine, ids, languages) : ids;
  const truncated = total > whole.length;
  if (truncated && options.on_overflow === 'error') {
    throw new InputError(`text ${number}: expected at most ${limit} tokens, found ${total} (on_overflow is 'error')`);
  }
  return { ids: whole, truncated, unknown: unknown[0] as number };
}

function withLanguage(engine: TaskEngine, ids: Int32Array, { src_lang, isFirst }: Languages): Int32Array {
  const eos =
    tokenOf(
      engine.call((handle) => handle.describe_tokenizer()),
      'eos_token',
    ) ?? '</s>';
  const { id } = engine.call((handle) => handle.token_to_id(eos));
  if (id < 0) throw new InputError(`tokenizer_config.json: eos_token: expected a token of the tokenizer, found '${eos}'`);
  const language = languageId(engine, 'src_lang', src_lang);
  return Int32Array.from(isFirst ? [language, ...ids, id] : [...ids, id, language]);
}

async function run(engine: TaskEngine, items: readonly string[], options: Options, context: Context): Promise<Result[]> {
  const { ofTask, languages, on_overflow: _overflow, formats, ...given } = options;
  const { prefix: _prefix, ...ofModel } = ofTask;
  const first = languages && { forced_bos_token_id: languageId(engine, 'tgt_lang', languages.tgt_lang) };
  const rest = { ...ofModel, ...first };
  const plan = readGenerateOptions(engine, given, rest);
  const text = textOf(engine);
  const sources = items.map((item, i) => encode(engine, item, options, context.first + i));
  const ids = sources.map((source) => source.ids);
  const before = ids.map(() => new Int32Array(0));
  const guide = await guideOf(engine, formats, items.length, context, plan, true);
  try {
    const results = await generateAll(engine, text, ids, plan, context, before, guide);
    return results.map((sequences, i) => ({
      truncated: sources[i]!.truncated,
      unknown: sources[i]!.unknown,
      made: sequences.map(({ tokens, reason, score }) => {
        const read = guide?.read(i, tokens);
        return {
          text: read?.text.trimStart() ?? text.decode(tokens),
          tokens: Array.from(tokens),
          finish_reason: reason,
          ...(read && { answer: read.answer, isCut: reason !== 'stop' && (!read.isWhole || score < kFiller) }),
        };
      }),
    }));
  } finally {
    guide?.end();
  }
}

function makeTask<Key extends string>(name: string, key: Key, more: Rules = {}): Task<string, Options, Result> {
  return {
    head: 'seq2seq_lm',
    async prepare([texts, given], engine): Promise<Call<string, Options, Result>> {
      const list = readTexts(name, texts);
      given = readOptions(name, given, { ...kRules, ...(more === kLanguages ? more : { response_format: 'any' }) });
      const { signal, callback, streamer, stopping_criteria, src_lang, tgt_lang, ...others } = (given ?? {}) as TranslationOptions;
      const { response_format: wanted, logits_processor, assistant_model, ...options } = ownCopy(others);
      if (assistant_model) throw new InputError(`${name}: option 'assistant_model': expected a decoder, found an encoder-decoder`);
      const { response_format: ofProcessor, ...own } = await ownOf(engine, logits_processor, undefined);
      const response_format = wanted ?? (ofProcessor as typeof wanted);
      const config = readConfig(engine as TaskEngine);
      const pair = { ...(src_lang && { src_lang }), ...(tgt_lang && { tgt_lang }) };
      const params = (config.task_specific_params ?? {}) as Params;
      const isFirst = 'src_lang' in more ? languageIsFirst(engine as TaskEngine) : undefined;
      const languages = isFirst === undefined ? undefined : languagesOf(name, isFirst, pair);
      const ofTask = languages ? (params[name] ?? {}) : paramsOf(name, params, pair);
      const prefix = ofTask.prefix ?? config.prefix ?? '';
      if (typeof prefix !== 'string') throw new InputError(`config.json: prefix: expected a string, found ${describe(prefix)}`);
      const read = response_format && !__WATTN_IN_WORKER__ ? await import('../generation/response_format.js') : undefined;
      const formats = await read?.readFormats(response_format, list.length);
      const answers = formats && (await import('../generation/answers.js'));
      const watch = new TokenWatch(name, { callback, streamer, stopping_criteria }, signal, list.length);
      return {
        items: list.map((text) => prefix + text),
        options: { ...options, ...own, ofTask, ...(languages && { languages }), ...(formats && { formats }) },
        ...watch.call(),
        finish(results) {
          const all = watch.finished(results, ({ prompt_tokens: _, ...made }, own): Result => ({
            truncated: false,
            unknown: 0,
            ...own,
            made: [made],
          }));
          const shaped = (list: readonly Result['made'][number][], i: number) => {
            const { truncated, unknown } = all[i] as Result;
            const facts = { ...(truncated && { truncated }), ...(unknown > 0 && { unknown }) };
            return list.map(({ text, ...rest }) => withFacts({ [key]: text }, { ...rest, ...facts }) as unknown as Text2Text<Key>);
          };
          if (!answers || !formats) return all.flatMap(({ made }, i) => shaped(made, i));
          const lists = all.map(({ made }) =>
            made.map(({ text, ...rest }) => ({ generated_text: text, prompt_tokens: 0, ...rest })),
          );
          const named = (list: GeneratedText[], i: number) =>
            shaped(
              list.map(({ generated_text: text, prompt_tokens: _, ...rest }) => ({ text, ...rest })),
              i,
            );
          return answers.readAll(lists, formats, named).flat();
        },
      };
    },
    run,

    extend: (pipe) => ({ stream: (text: unknown, options?: unknown) => stream(pipe, text, options) }),
  };
}

export const text2text = makeTask('text2text-generation', 'generated_text');
export const translation = makeTask('translation', 'translation_text', kLanguages);
export const summarization = makeTask('summarization', 'summary_text');
