// A tokenizer over a handle of WebAssembly: options, rows, and what else transformers and transformers.js have.
import { disposable } from '../core/disposable.js';
import { env } from '../core/env.js';
import { describe, InputError } from '../core/errors.js';
import type { HabitualCall } from '../core/habits.js';
import { readFields, type NamedBytes } from '../source/model_files.js';
import { ownCopy, readOptions } from '../core/options.js';
import type { Answer, EncodeAnswer, Piece, SeamTokenizer, TokenizerAnswer } from '../host/seam.js';
import { EncodedArrays } from '../host/wire.js';
import { Pieces } from './pieces.js';
import { Tensor } from '../core/tensor.js';
import { readTexts } from '../core/texts.js';
import { infoOf, kSpecialTokens, readTokenizerConfig, specialTokens, type NamedTokens, type SpecialToken } from './config.js'; // prettier-ignore
import { arraysFor, kBatchRules, kChunkRules, kDecodeRules, kEncodeRules, kSides, kTokenizeRules, oneOf, toIds, toWanted } from './call_options.js'; // prettier-ignore
import type { Batches } from './batches.js';
import type { Counter } from './chunk.js';
import { kCountRules } from './count_rules.js';
import type {
  Chunk,
  ChunkOptions,
  CountOptions,
  DecodeOptions,
  DecodeStream,
  EncodeBatchOptions,
  EncodeOptions,
  TokenIds,
  TokenizeOptions,
  Tokenizer,
} from './types.js';
import { factsOf, layOut, toList, toRows, type Wanted } from './layout.js';

/** @internal Access to a handle with a tokenizer: a Tokenizer's own, or an Engine's. */
export interface TokenizerHost<Handle extends SeamTokenizer> {
  call<A extends Answer>(run: (handle: Handle) => A): A;
  describe(handle: Handle): TokenizerAnswer;
  /** Loads other files into the handle. undefined: the tokenizer is a model's. */
  load?(files: readonly NamedBytes[]): void;
}

const kIdsAtOnce = 2 ** 14;
const kDone: Answer = { code: 0, message: '' };
/** More ids are faster read from WebAssembly's table, if it has one, than joined of strings. */
const kMostJoined = 48;

/** What tokenizers need beside this file. */
export type Extras = typeof import('./extras.js');

/** @internal files: may change in place, when tokens are added. release: called by dispose(). */
export function makeTokenizer<Handle extends SeamTokenizer>(
  host: TokenizerHost<Handle>,
  files: NamedBytes[],
  extras: Extras,
  release: () => void = () => {},
): Tokenizer {
  const describeIt = () => host.call((handle) => host.describe(handle));
  const facts = describeIt();
  const config = readTokenizerConfig(files, facts);
  let { vocab_size, model_max_length = Infinity } = facts;

  const run = ({ texts, pairs, seam }: Wanted): EncodeAnswer => host.call((handle) => handle.encode(texts, pairs, seam));
  const idsToTokens = (ids: ArrayLike<number>) => host.call((handle) => handle.ids_to_tokens(ids)).tokens;

  /** The id of a text that is one token by itself, as that of every special token is. */
  const oneId = (text: string): number | undefined => {
    const { ids } = run({ texts: [text], pairs: undefined, padTo: undefined, seam: { add_special_tokens: false, arrays: 0 } });
    return ids.length === 1 ? ids[0] : undefined;
  };
  const textOf = (id: number) => idsToTokens(Int32Array.of(id))[0] as string;
  const ownId = (token: string): number | undefined => {
    const id = oneId(token);
    return id !== undefined && textOf(id) === token ? id : undefined;
  };

  let vocab: Map<string, number> | undefined;
  /** The ids of all tokens. Ids may have gaps: reading ends when all tokens are found, or none in a block. */
  const vocabulary = (): Map<string, number> => {
    if (vocab) return vocab;
    const texts = new Map<number, string>();
    for (let begin = 0, before = -1; before < texts.size && texts.size < vocab_size; begin += kIdsAtOnce) {
      before = texts.size;
      const tokens = idsToTokens(Int32Array.from({ length: kIdsAtOnce }, (_, i) => begin + i));
      tokens.forEach((token, i) => token && texts.set(begin + i, token));
    }
    // An added token that is normalized has the normalized text above, here its own.
    for (const token of allSpecial()) {
      const id = oneId(token);
      if (id !== undefined && texts.get(id)?.endsWith(token)) texts.set(id, token);
    }
    const { added_tokens: added = [] } = readFields(files, 'tokenizer.json');
    for (const { id, content } of added as { id: number; content: string }[]) if (texts.has(id)) texts.set(id, content);
    return (vocab = new Map(Array.from(texts, ([id, token]) => [token, id])));
  };
  const idOf = (token: string | undefined) => (token ? (ownId(token) ?? vocabulary().get(token)) : undefined);

  let named: NamedTokens | undefined;
  const special = (): NamedTokens => (named ??= specialTokens(config, (token) => ownId(token) !== undefined));
  const allSpecial = () => [
    ...new Set([...kSpecialTokens.flatMap((name) => special()[name] ?? []), ...config.extra_special_tokens]),
  ];
  const padToken = () => special().pad_token ?? (env.compat ? special().eos_token : undefined);

  const padId = (): number => {
    const named = padToken();
    const names = named === undefined ? ['[PAD]', '<pad>'] : [named];
    for (const name of names) {
      const id = idOf(name);
      if (id !== undefined) return id;
    }
    throw new InputError(`tokenizer: option 'padding': this tokenizer has no padding token (looked for ${names.join(' and ')})`);
  };

  /** What use makes of the options: of those in wattn's words, if it refuses them. */
  const familiar = <O, R>(name: HabitualCall, given: O, use: (options: O) => R): R => {
    try {
      return use(given);
    } catch (error) {
      return use(extras.again(name, name, given, error));
    }
  };

  const call = (texts: string | readonly string[], given?: TokenizeOptions | null) => {
    const [options, wanted] = familiar('tokenizer', given, (given) => {
      const options = readOptions('tokenizer', given, kTokenizeRules) as TokenizeOptions;
      return [options, toWanted(texts, options, config, model_max_length, arraysFor(options, config))] as const;
    });
    const answer = run(wanted);
    const pad = wanted.padTo === undefined ? 0 : padId();
    const flat = typeof texts === 'string' && !options.return_overflowing_tokens;
    const left = (options.padding_side ?? config.padding_side) === 'left';
    const offsets = (of: EncodeAnswer) => (options.offsets === 'codepoint' ? extras.toCodePoints(of, wanted) : of.offsets);
    const details = () => {
      const arrays = EncodedArrays.offsets | EncodedArrays.word_ids | EncodedArrays.sequence_ids | EncodedArrays.per_encoding;
      const seam = { ...wanted.seam, arrays, return_tokens: true };
      const again = run({ ...wanted, seam });
      const rows = toRows(again.lengths, wanted.padTo);
      return { answer: again, offsets: offsets(again), rows, left, pad: textOf(pad) };
    };
    const result = new extras.LookUps(details, factsOf(answer));
    return layOut(answer, wanted, options, { left, type_ids: config.type_ids, pad, flat, offsets }, result);
  };

  const encodeOne = (
    name: string,
    text: string,
    options: EncodeOptions | null | undefined,
    return_tokens: boolean,
  ): EncodeAnswer => {
    const wanted = familiar('encode', options, (given) => {
      const own = readOptions(name, given, kEncodeRules);
      if (typeof text !== 'string') throw new InputError(`${name}: expected a string, found ${describe(text)}`);
      return toWanted(text, own, config, model_max_length, 0, return_tokens);
    });
    return run(wanted);
  };
  const encode = (text: string, options?: EncodeOptions | null): number[] => toList(encodeOne('encode', text, options, false).ids);

  let batches: Promise<Batches> | undefined;
  const loadBatches = async () => {
    const { Batches } = await import('./batches.js');
    return new Batches(host.load && files, (part) => run({ ...part, padTo: undefined }));
  };
  const endBatches = () => void batches?.then((own) => own.end());
  const encode_batch = async (texts: readonly string[], given?: EncodeBatchOptions | null): Promise<Int32Array[]> => {
    const options = readOptions('encode_batch', given, kBatchRules) as EncodeBatchOptions;
    if (typeof texts === 'string') throw new InputError('encode_batch: expected an array of texts, found a string: use encode');
    const wanted = toWanted(texts, options as EncodeOptions, config, model_max_length, EncodedArrays.per_encoding);
    host.call(() => kDone); // it was not disposed
    return (await (batches ??= loadBatches())).encode(wanted, options.worker ?? undefined, options.signal ?? undefined);
  };

  const convert_ids_to_tokens = (ids: TokenIds): string[] => {
    const list = toIds('convert_ids_to_tokens', ids);
    const tokens = idsToTokens(list);
    const unknown = tokens.indexOf('');
    if (unknown < 0) return tokens;
    throw new InputError(`convert_ids_to_tokens: expected ids of the vocabulary, found ${list[unknown]} at index ${unknown}`);
  };

  const tokensToIds = (tokens: readonly string[]): (number | null)[] => {
    const unknown = idOf(special().unk_token) ?? null;
    return tokens.map((token) => vocabulary().get(token) ?? unknown);
  };
  const convert_tokens_to_ids = (tokens: string | readonly string[]) => {
    const ids = tokensToIds(readTexts('convert_tokens_to_ids', tokens));
    return typeof tokens === 'string' ? ids[0] : ids;
  };

  let pieces: Pieces | undefined;
  const piecesOf = (handle: Handle) =>
    (pieces ??= new Pieces((some, flags) => handle.decode_pieces(some, flags).pieces, facts.decodes_first_alike));
  const decode = (ids: TokenIds, options?: DecodeOptions | null): string => {
    if (options != null) options = readOptions('decode', options, kDecodeRules);
    const list = toIds('decode', ids);
    const clean = !facts.is_bpe && (options?.clean_up_tokenization_spaces ?? config.clean_up_tokenization_spaces);
    const skip = options?.skip_special_tokens ?? false;
    const whole = (handle: Handle) => {
      const isLong = facts.decodes_by_table && list.length > kMostJoined;
      const text = isLong ? undefined : piecesOf(handle).join(list, skip, clean);
      return text === undefined ? handle.decode(list, skip, clean) : { code: 0, message: '', text };
    };
    return host.call(whole).text;
  };

  const counts = (texts: readonly string[], { add_special_tokens, split_special_tokens }: CountOptions): Int32Array => {
    const seam = ownCopy({ add_special_tokens, split_special_tokens, arrays: EncodedArrays.per_encoding });
    return host.call((handle) => handle.encode(texts, undefined, seam)).lengths;
  };

  const count = (texts: string | readonly string[], options?: CountOptions | null) => {
    options = readOptions('count', options, kCountRules);
    const all = counts(readTexts('count', texts), options);
    return typeof texts === 'string' ? all[0] : Array.from(all);
  };

  const counterOf = (text: string, options: CountOptions): Counter => {
    const { split_special_tokens } = options;
    const { offsets } = run({
      texts: [text],
      pairs: undefined,
      padTo: undefined,
      seam: ownCopy({ add_special_tokens: false, split_special_tokens, arrays: EncodedArrays.offsets }),
    });
    return { offsets, count: (part) => counts([part], options)[0] as number };
  };

  const chunk = (text: string, options: ChunkOptions): Chunk[] => {
    options = readOptions('chunk', options, kChunkRules);
    if (typeof text !== 'string') throw new InputError(`chunk: expected a string, found ${describe(text)}`);
    if (!options?.max_tokens) throw new InputError("chunk: option 'max_tokens': expected a number, found none");
    return extras.cutText(text, counterOf(text, options), options);
  };

  const truncate_to = (text: string, tokens: number, options?: CountOptions | null): string => {
    options = readOptions('truncate_to', options, kCountRules);
    if (typeof text !== 'string') throw new InputError(`truncate_to: expected a string, found ${describe(text)}`);
    if (!Number.isSafeInteger(tokens) || tokens < 0) {
      throw new InputError(`truncate_to: argument 'tokens': expected a whole number of at least 0, found ${describe(tokens)}`);
    }
    return extras.truncateTo(text, tokens, counterOf(text, options));
  };

  const convert_tokens_to_string = (tokens: readonly string[]): string => {
    const unknown = tokens.findIndex((token) => !vocabulary().has(token));
    if (unknown < 0) return decode(tokensToIds(tokens) as number[], { clean_up_tokenization_spaces: false });
    throw new InputError(
      `convert_tokens_to_string: expected tokens of the vocabulary, found ${describe(tokens[unknown])} at index ${unknown}`,
    );
  };

  const decode_stream = (options?: DecodeOptions | null): DecodeStream => {
    options = readOptions('decode_stream', options, kDecodeRules);
    const ids = (pushed: number | bigint | TokenIds) =>
      toList(toIds('push', typeof pushed === 'number' || typeof pushed === 'bigint' ? ([pushed] as number[]) : pushed));
    const skip = options?.skip_special_tokens ?? false;
    const pieceOf = (id: number, isFirst: boolean) => {
      let piece: Piece;
      host.call((handle) => {
        piece = piecesOf(handle).of(id, isFirst, skip);
        return kDone;
      });
      return piece;
    };
    const wanted = options?.clean_up_tokenization_spaces ?? config.clean_up_tokenization_spaces;
    // Nothing is cleaned of a BPE. One whose tokens have no text alone may yet write a space anew, after the bytes of a character.
    const cleans = wanted && !(facts.is_bpe && pieceOf(0, false) !== undefined);
    return extras.makeDecodeStream({ decode: (all) => decode(all, options), ids, cleans, pieceOf: cleans ? undefined : pieceOf });
  };

  const chats = extras.chatMethods(files, special, call as Parameters<Extras['chatMethods']>[2]);

  const reload = (changed: readonly NamedBytes[]) => {
    host.load?.(changed);
    files.splice(0, files.length, ...changed);
    endBatches();
    vocab = undefined;
    pieces = undefined;
    ({ vocab_size } = describeIt());
    Object.assign(call, { vocab_size });
  };
  const saving = { files, config, special, templates: chats.templates, reload: host.load && reload };

  const rest = {
    ...chats.methods,
    ...extras.savingMethods(saving),
    encode,
    encode_batch,
    decode,
    count,
    chunk,
    truncate_to,
    decode_stream,
    convert_ids_to_tokens,
    convert_tokens_to_ids,
    convert_tokens_to_string,
    get_vocab: () => new Map(vocabulary()),
    tokenize(text: string, options?: EncodeOptions | null) {
      const own = ownCopy(options);
      const how = { ...own, add_special_tokens: own?.add_special_tokens ?? false };
      return encodeOne('tokenize', text, how, true).tokens ?? [];
    },
    batch_decode(batch: readonly TokenIds[] | Tensor, options?: DecodeOptions | null) {
      options = readOptions('batch_decode', options, kDecodeRules);
      return Array.from(batch as Iterable<TokenIds>, (ids) => decode(ids, options));
    },
    model_max_length,
    vocab_size,
    info: () => infoOf(facts),
  };
  const set = (name: SpecialToken, token: string | null | undefined) => {
    if (token != null && (typeof token !== 'string' || idOf(token) === undefined)) {
      throw new InputError(`tokenizer.${name}: expected a token of the vocabulary or null, found ${describe(token)}`);
    }
    special()[name] = token ?? undefined;
  };
  const property = (name: string, get: () => unknown, set?: (value: any) => void) =>
    Object.defineProperty(call, name, { get, set, enumerable: true });
  for (const name of kSpecialTokens) {
    const get = name === 'pad_token' ? padToken : () => special()[name];
    property(name, () => get() ?? null, set.bind(null, name));
    property(
      `${name}_id`,
      () => idOf(get()) ?? null,
      (id) => set(name, id == null ? id : ([...vocabulary()].find(([, each]) => each === id)?.[0] ?? id)),
    );
  }
  property('all_special_tokens', allSpecial);
  property('all_special_ids', () => tokensToIds(allSpecial()));
  property('chat_template', chats.templates, chats.setTemplates);
  property(
    'padding_side',
    () => config.padding_side,
    (side) => {
      oneOf('padding_side', side ?? '', kSides);
      config.padding_side = side;
    },
  );
  const end = () => {
    endBatches();
    release();
  };
  return disposable(Object.assign(call, rest), end) as unknown as Tokenizer;
}
