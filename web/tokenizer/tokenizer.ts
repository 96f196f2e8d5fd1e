import { makeDecodeStream } from './decode_stream.js';
import { disposable } from '../core/disposable.js';
import { describe, InputError } from '../core/errors.js';
import { openGguf, readGgufMetadata } from '../source/gguf_file.js';
import { loadFrom } from '../source/load_from.js';
import { kChatTemplate, readOptional, readTokenizerFiles, type NamedBytes } from '../source/model_files.js';
import { kSourceRules, openModel } from '../source/model_source.js';
import type { ModelSource } from '../source/source.js';
import { checkOptions, type Rules } from '../core/options.js';
import { SeamHost } from '../host/seam_host.js';
import type { Answer, EncodeAnswer, OptionalArray, SeamEncodeOptions, SeamTokenizer, SeamTokenizerHandle } from '../host/seam.js';
import { abortable, throwIfAborted } from '../core/signal.js';
import { Tensor } from '../core/tensor.js';
import { checkTexts, joinTexts } from '../core/texts.js';
import { cutText } from './chunk.js';
import { readTokenizerConfig, type TokenizerConfig } from './config.js';
import type {
  Chat,
  ChatTemplateOptions,
  Chunk,
  ChunkOptions,
  CountOptions,
  DecodeOptions,
  DecodeStream,
  EncodeOptions,
  TokenIds,
  TokenizeOptions,
  Tokenizer,
  TrainOptions,
  TrainedTokenizer,
  TrainingTexts,
} from './types.js';
import { layOut, type Wanted } from './layout.js';
import type { AbortSignalLike } from '../core/types.js';
import type { ModelSpecifier, SourceOptions } from '../source/types.js';
import { compileWasm, instantiateWasm } from '../host/wasm_loader.js';

const kStrategies = ['longest_first', 'only_first', 'only_second'] as const;

const kEncodeRules: Rules = {
  text_pair: 'any',
  truncation: 'any',
  max_length: 'count',
  add_special_tokens: 'boolean',
  split_special_tokens: 'boolean',
};

const kTokenizeRules: Rules = {
  ...kEncodeRules,
  padding: 'any',
  return_offsets_mapping: 'boolean',
  offsets: ['utf16', 'codepoint'],
  return_special_tokens_mask: 'boolean',
  return_token_type_ids: 'boolean',
  return_attention_mask: 'boolean',
  return_overflowing_tokens: 'boolean',
  overlap: 'index',
  return_tensor: 'boolean',
};

const kCountRules: Rules = { add_special_tokens: 'boolean', split_special_tokens: 'boolean' };
const kChunkRules: Rules = { ...kCountRules, max_tokens: 'count', overlap: 'index' };

const kDecodeRules: Rules = { skip_special_tokens: 'boolean', clean_up_tokenization_spaces: 'boolean' };

/** @internal Access to a handle with a tokenizer: a Tokenizer's own, or an Engine's. */
export interface TokenizerHost<Handle extends SeamTokenizer> {
  call<A extends Answer>(run: (handle: Handle) => A): A;
  describe(handle: Handle): Answer & { vocab_size: number; model_max_length?: number };
}

function oneOf(name: string, value: unknown, known: readonly unknown[]): void {
  if (value === undefined || value === null || known.includes(value)) return;
  const shown = known.map((each) => (typeof each === 'string' ? `'${each}'` : String(each))).join(', ');
  throw new InputError(`tokenizer: option '${name}': expected ${shown}, found ${describe(value)}`);
}

/** The truncation and padding that Python would apply. Where Python only warns, this throws an InputError. */
function toLengths(
  options: TokenizeOptions,
  limit: number,
): Pick<Wanted, 'padTo'> & Pick<SeamEncodeOptions, 'max_length' | 'strategy'> {
  oneOf('padding', options.padding, [false, true, 'longest', 'max_length']);
  oneOf('truncation', options.truncation, [false, true, ...kStrategies]);
  const padding = options.padding ?? false;
  const given = options.max_length ?? undefined;
  const truncation = options.truncation ?? (given !== undefined && padding === false);
  if (given !== undefined && truncation === false && padding !== 'max_length') {
    throw new InputError("tokenizer: option 'max_length' has no effect here: set truncation: true or padding: 'max_length'");
  }
  const length = given ?? limit;
  if ((truncation !== false || padding === 'max_length') && !Number.isFinite(length)) {
    throw new InputError(
      "tokenizer: option 'max_length': expected a number, because this tokenizer's files define no limit; found none",
    );
  }
  const padTo = padding === 'max_length' ? length : padding === false ? undefined : 'longest';
  if (truncation === false) return { padTo };
  return { padTo, max_length: length, strategy: truncation === true ? 'longest_first' : truncation };
}

function toPairs(texts: string | readonly string[], pair: unknown): readonly string[] | undefined {
  if (pair === undefined || pair === null || (pair === '' && typeof texts === 'string')) return undefined;
  checkTexts("tokenizer: option 'text_pair'", pair);
  const list = typeof pair === 'string' ? [pair] : pair;
  if ((typeof pair === 'string') !== (typeof texts === 'string') || (typeof texts !== 'string' && list.length !== texts.length)) {
    const wanted = typeof texts === 'string' ? 'a string' : `an array of ${texts.length} strings`;
    const found = typeof pair === 'string' ? 'a string' : `an array of ${list.length}`;
    throw new InputError(`tokenizer: option 'text_pair': expected ${wanted} like the first argument, found ${found}`);
  }
  return list;
}

/** The optional arrays that layOut needs. */
function arraysFor(options: TokenizeOptions, config: TokenizerConfig): OptionalArray[] {
  const arrays: OptionalArray[] = [];
  if (options.return_token_type_ids ?? config.type_ids) arrays.push('type_ids');
  if (options.return_offsets_mapping) arrays.push('offsets', 'sequence_ids');
  if (options.return_special_tokens_mask) arrays.push('special_tokens_mask');
  return arrays;
}

const kMostPaddedIds = 2 ** 27; // a gigabyte in each array of 64-bit ids

function toWanted(
  texts: unknown,
  options: TokenizeOptions,
  config: TokenizerConfig,
  limit: number,
  arrays: OptionalArray[],
): Wanted {
  checkTexts('tokenizer', texts);
  const { padTo, ...lengths } = toLengths(options, limit);
  const overlap = options.overlap ?? undefined;
  if (overlap !== undefined && !options.return_overflowing_tokens) {
    throw new InputError("tokenizer: option 'overlap' has no effect without return_overflowing_tokens: true");
  }
  const count = typeof texts === 'string' ? 1 : texts.length;
  if (typeof padTo === 'number' && padTo * count > kMostPaddedIds) {
    throw new InputError(
      `tokenizer: option 'max_length': expected ${count} texts padded to it to have at most ${kMostPaddedIds} ids, found ${padTo} ids each`,
    );
  }
  return {
    texts: typeof texts === 'string' ? [texts] : texts,
    pairs: toPairs(texts, options.text_pair),
    padTo,
    seam: {
      ...lengths,
      add_special_tokens: options.add_special_tokens,
      split_special_tokens: options.split_special_tokens,
      truncation_side: config.truncation_side,
      overlap,
      return_overflowing: options.return_overflowing_tokens,
      arrays,
    },
  };
}

/** Validates the ids of one text. */
function toIds(where: string, ids: unknown): Int32Array {
  let list = ids;
  if (list !== null && typeof list === 'object' && 'dims' in list) {
    const { dims, data } = list as Tensor;
    if (dims.length !== 1 && !(dims.length === 2 && dims[0] === 1)) {
      throw new InputError(`${where}: expected the ids of one text, found a Tensor of dims [${dims}]`);
    }
    list = data;
  }
  if (!Array.isArray(list) && !ArrayBuffer.isView(list)) {
    throw new InputError(`${where}: expected an array of token ids, found ${describe(ids)}`);
  }
  return Int32Array.from(list as ArrayLike<unknown>, (id, i) => {
    const value = typeof id === 'bigint' ? Number(id) : id;
    if (Number.isInteger(value) && (value as number) >= 0 && (value as number) < 2 ** 31) return value as number;
    throw new InputError(`${where}: expected a token id at index ${i}, found ${describe(id)}`);
  });
}

/** @internal release: called by dispose(). */
export function makeTokenizer<Handle extends SeamTokenizer>(
  host: TokenizerHost<Handle>,
  files: readonly NamedBytes[],
  release: () => void = () => {},
  readChatTemplate?: () => Promise<NamedBytes[]>,
): Tokenizer {
  const config = readTokenizerConfig(files);
  const { vocab_size, model_max_length = Infinity } = host.call((handle) => host.describe(handle));

  const run = ({ texts, pairs, seam }: Wanted): EncodeAnswer => {
    const first = joinTexts(texts);
    const second = pairs && joinTexts(pairs);
    return host.call((handle) => handle.encode(first.text, first.lengths, second?.text ?? null, second?.lengths ?? null, seam));
  };
  const idsToTokens = (ids: Int32Array) => host.call((handle) => handle.ids_to_tokens(ids)).tokens;

  /** The id of the padding token named in tokenizer_config.json, else of a usual name in the vocabulary. */
  const padId = (): number => {
    const names = config.pad_token === undefined ? ['[PAD]', '<pad>'] : [config.pad_token];
    for (const name of names) {
      const { ids } = run({ texts: [name], pairs: undefined, padTo: undefined, seam: { add_special_tokens: false, arrays: [] } });
      if (ids.length === 1 && idsToTokens(ids)[0] === name) return ids[0] as number;
    }
    throw new InputError(`tokenizer: option 'padding': this tokenizer has no padding token (looked for ${names.join(' and ')})`);
  };

  const call = (texts: string | readonly string[], options?: TokenizeOptions | null) => {
    checkOptions('tokenizer', options, kTokenizeRules);
    const wanted = toWanted(texts, options ?? {}, config, model_max_length, arraysFor(options ?? {}, config));
    const answer = run(wanted);
    const pad = wanted.padTo === undefined ? 0 : padId();
    const flat = typeof texts === 'string' && !options?.return_overflowing_tokens;
    return layOut(answer, wanted, { type_ids: config.type_ids, padding_side: config.padding_side, ...options }, pad, flat);
  };

  const encodeOne = (name: string, text: string, options: EncodeOptions, return_tokens: boolean): EncodeAnswer => {
    checkOptions(name, options, kEncodeRules);
    if (typeof text !== 'string') throw new InputError(`${name}: expected a string, found ${describe(text)}`);
    const wanted = toWanted(text, options, config, model_max_length, []);
    return run({ ...wanted, seam: { ...wanted.seam, return_tokens } });
  };
  const encode = (text: string, options?: EncodeOptions | null): number[] =>
    Array.from(encodeOne('encode', text, options ?? {}, false).ids);

  const convert_ids_to_tokens = (ids: TokenIds): string[] => {
    const list = toIds('convert_ids_to_tokens', ids);
    const tokens = idsToTokens(list);
    const unknown = tokens.indexOf('');
    if (unknown < 0) return tokens;
    throw new InputError(`convert_ids_to_tokens: expected ids of the vocabulary, found ${list[unknown]} at index ${unknown}`);
  };

  const decode = (ids: TokenIds, options?: DecodeOptions | null): string => {
    checkOptions('decode', options, kDecodeRules);
    const list = toIds('decode', ids);
    const clean = options?.clean_up_tokenization_spaces ?? config.clean_up_tokenization_spaces;
    return host.call((handle) => handle.decode(list, options?.skip_special_tokens ?? false, clean)).text;
  };

  const counts = (texts: readonly string[], { add_special_tokens, split_special_tokens }: CountOptions): Int32Array => {
    const { text, lengths } = joinTexts(texts);
    return host.call((handle) => handle.count(text, lengths, { add_special_tokens, split_special_tokens })).counts;
  };

  const count = (texts: string | readonly string[], options?: CountOptions | null) => {
    checkOptions('count', options, kCountRules);
    checkTexts('count', texts);
    const all = counts(typeof texts === 'string' ? [texts] : texts, options ?? {});
    return typeof texts === 'string' ? all[0] : Array.from(all);
  };

  const chunk = (text: string, options: ChunkOptions): Chunk[] => {
    checkOptions('chunk', options, kChunkRules);
    if (typeof text !== 'string') throw new InputError(`chunk: expected a string, found ${describe(text)}`);
    if (!options?.max_tokens) throw new InputError("chunk: option 'max_tokens': expected a number, found none");
    const { split_special_tokens } = options;
    const { offsets } = run({
      texts: [text],
      pairs: undefined,
      padTo: undefined,
      seam: { add_special_tokens: false, split_special_tokens, arrays: ['offsets'] },
    });
    return cutText(text, { offsets, count: (part) => counts([part], options)[0] as number }, options);
  };

  const decode_stream = (options?: DecodeOptions | null): DecodeStream => {
    checkOptions('decode_stream', options, kDecodeRules);
    const ids = (pushed: number | bigint | TokenIds) =>
      toIds('push', typeof pushed === 'number' || typeof pushed === 'bigint' ? ([pushed] as number[]) : pushed);
    const cleans = options?.clean_up_tokenization_spaces ?? config.clean_up_tokenization_spaces;
    return makeDecodeStream((all) => decode(all, options), ids, cleans);
  };

  /** The text of a chat, or its ids. */
  const apply_chat_template = async (chat: Chat, options?: ChatTemplateOptions | null) => {
    const { kChatRules, renderChat } = await import('./chat_template.js');
    checkOptions('apply_chat_template', options, { ...kChatRules, tokenize: 'boolean' });
    const { tokenize, ...rest } = options ?? {};
    const text = await renderChat([...files, ...((await readChatTemplate?.()) ?? [])], chat, rest);
    return tokenize === false ? text : encode(text, { add_special_tokens: false });
  };

  const rest = {
    apply_chat_template,
    encode,
    decode,
    count,
    chunk,
    decode_stream,
    convert_ids_to_tokens,
    tokenize: (text: string, options?: EncodeOptions | null) =>
      encodeOne('tokenize', text, { ...options, add_special_tokens: options?.add_special_tokens ?? false }, true).tokens ?? [],
    batch_decode(batch: readonly TokenIds[] | Tensor, options?: DecodeOptions | null) {
      checkOptions('batch_decode', options, kDecodeRules);
      return Array.from(batch as Iterable<TokenIds>, (ids) => decode(ids, options));
    },
    model_max_length,
    vocab_size,
  };
  return disposable(Object.assign(call, rest), release) as unknown as Tokenizer;
}

/** Reads chat_template.jinja once, when the first chat needs it. */
function chatTemplateOf(source: ModelSource): () => Promise<NamedBytes[]> {
  let reading: Promise<NamedBytes[]> | undefined;
  return () => {
    reading ??= loadFrom(source, {}, (from, progress, signal) => readOptional(from, kChatTemplate, progress, signal));
    reading.catch(() => (reading = undefined));
    return reading;
  };
}

/** A tokenizer in its own instance. load: loads its files into the handle; config: tokenizer_config.json among them. */
async function startTokenizer(
  config: readonly NamedBytes[],
  signal: AbortSignalLike | undefined,
  load: (host: SeamHost<SeamTokenizerHandle>) => Promise<void>,
  readChatTemplate?: () => Promise<NamedBytes[]>,
): Promise<Tokenizer> {
  const instance = await abortable(instantiateWasm(await abortable(compileWasm(), signal)), signal);
  const host = new SeamHost('this tokenizer', instance, new instance.seam.Tokenizer());
  await load(host);
  return makeTokenizer<SeamTokenizerHandle>(
    { call: (run) => host.call(run), describe: (handle) => handle.describe() },
    config,
    () => host.release(),
    readChatTemplate,
  );
}

/** Tokenizers alone, without a model's weights. */
export const AutoTokenizer = {
  /**
   * Loads tokenizer.json (or else vocab.json with merges.txt or source.spm, vocab.txt, or a SentencePiece .model) and, if present,
   * tokenizer_config.json; chat_template.jinja with the first chat. Or loads the tokenizer of a .gguf file. model: see `ModelSpecifier`;
   * default: the bundled model.
   */
  async from_pretrained(model?: ModelSpecifier | null, options?: SourceOptions): Promise<Tokenizer> {
    checkOptions('AutoTokenizer.from_pretrained', options, kSourceRules);
    throwIfAborted(options?.signal ?? undefined);
    const gguf = openGguf(model, options ?? {});
    const from = gguf?.source ?? openModel(model as ModelSpecifier, options ?? {});
    return loadFrom(from, options ?? {}, async (source, progress, signal) => {
      const work = Promise.all([
        compileWasm(), // in parallel
        gguf ? [] : readTokenizerFiles(source, progress, signal),
        gguf ? [] : readOptional(source, 'tokenizer_config.json', progress, signal),
      ]);
      const [, files, config] = await abortable(work, signal);
      const load = async (host: SeamHost<SeamTokenizerHandle>) => {
        if (!gguf) return void host.call((handle) => handle.load([...files, ...config]));
        const accept = (bytes: Uint8Array, isWhole: boolean) =>
          host.call((handle) => handle.load_gguf(bytes, isWhole)).is_cut_off !== true;
        return abortable(readGgufMetadata(gguf, progress, signal, accept), signal);
      };
      const tokenizer = await startTokenizer(config, signal, load, gguf ? undefined : chatTemplateOf(source));
      progress.ready();
      return tokenizer;
    });
  },

  /** Trains a tokenizer on texts, with the same results as Hugging Face's trainers. */
  async train(texts: TrainingTexts, options: TrainOptions): Promise<TrainedTokenizer> {
    const { trainTokenizer } = await import('./training.js'); // rarely needed
    return trainTokenizer(texts, options, (json, config) =>
      startTokenizer(
        [config],
        options.signal ?? undefined,
        async (host) => void host.call((handle) => handle.load([json, config])),
      ),
    );
  },
};
