// Trains a tokenizer: defaults for each model, texts fed in portions, steps of a few milliseconds with breaks in between.
import { plainCallback } from '../core/callback.js';
import { describe, InputError } from '../core/errors.js';
import type { NamedBytes } from '../source/model_files.js';
import { ownCopy, readOptions, type Rules } from '../core/options.js';
import { SeamHost } from '../host/seam_host.js';
import type { SeamTrainingHandle } from '../host/seam.js';
import { trainingHandle } from '../host/text_calls.js';
import { abortable, Breather, throwIfAborted } from '../core/signal.js';
import { itemsOf } from '../core/texts.js';
import type { Tokenizer, TrainOptions, TrainedTokenizer, TrainingTexts } from './types.js';
import type { AbortSignalLike } from '../core/types.js';
import { wasmFiles } from '../host/wasm_files_tokenizer.js';
import { compileWasm, instantiateWasm } from '../host/wasm_loader.js';

const kModels = ['wordpiece', 'bpe', 'unigram', 'word', 'char'] as const;
const kFeedUnits = 1 << 18; // UTF-16 units per call

const kTrainerRules: Rules = {
  vocab_size: 'count',
  min_frequency: 'index',
  special_tokens: 'any',
  unk_token: 'string',
  limit_alphabet: 'index',
  initial_alphabet: 'any',
  continuing_subword_prefix: 'string',
  end_of_word_suffix: 'string',
  max_token_length: 'count',
  shrinking_factor: 'any',
  n_sub_iterations: 'count',
  max_piece_length: 'count',
  seed_size: 'count',
};

const kStages = ['normalizer', 'pre_tokenizer', 'post_processor', 'decoder'] as const;

const kRules: Rules = {
  model: kModels,
  ...kTrainerRules,
  ...Object.fromEntries(kStages.map((stage) => [stage, 'any'])),
  progress_callback: 'function',
  signal: 'signal',
  wasm: 'any',
};

type Defaults = Partial<Record<(typeof kStages)[number], object>> & {
  type: string;
  special_tokens: readonly string[];
  unk_token?: string;
  continuing_subword_prefix?: string;
};

const kUsualTokens = ['<unk>', '<pad>', '<s>', '</s>'];
const metaspace = { type: 'Metaspace', replacement: '\u2581', prepend_scheme: 'always', split: true };
const byteLevel = { type: 'ByteLevel', add_prefix_space: false, trim_offsets: true, use_regex: true };

const kDefaults: Record<TrainOptions['model'], Defaults> = {
  wordpiece: {
    type: 'WordPiece',
    special_tokens: ['[PAD]', '[UNK]', '[CLS]', '[SEP]', '[MASK]'],
    unk_token: '[UNK]',
    continuing_subword_prefix: '##',
    normalizer: { type: 'BertNormalizer', clean_text: true, handle_chinese_chars: true, strip_accents: null, lowercase: true },
    pre_tokenizer: { type: 'BertPreTokenizer' },
  },
  bpe: { type: 'BPE', special_tokens: ['<|endoftext|>'], pre_tokenizer: byteLevel },
  unigram: {
    type: 'Unigram',
    special_tokens: kUsualTokens,
    unk_token: '<unk>',
    normalizer: { type: 'NFKC' },
    pre_tokenizer: metaspace,
  },
  word: { type: 'WordLevel', special_tokens: kUsualTokens, unk_token: '<unk>', pre_tokenizer: { type: 'Whitespace' } },
  char: { type: 'Char', special_tokens: kUsualTokens, unk_token: '<unk>', decoder: { type: 'Fuse' } },
};

/** The characters that ByteLevel uses for bytes: printable Latin-1 characters are themselves, others are mapped from U+0100 on. */
function byteAlphabet(): string[] {
  let others = 0;
  const prints = (byte: number) => (byte > 0x20 && byte < 0x7f) || (byte > 0xa0 && byte !== 0xad);
  return Array.from({ length: 256 }, (_, byte) => String.fromCharCode(prints(byte) ? byte : 0x100 + others++));
}

function strings(name: string, value: unknown): readonly string[] {
  if (Array.isArray(value) && value.every((each) => typeof each === 'string')) return value;
  throw new InputError(`AutoTokenizer.train: option '${name}': expected an array of strings, found ${describe(value)}`);
}

/** `[CLS] A [SEP] B [SEP]`, if the tokenizer has these tokens. */
function bertTemplate(special: readonly string[]): object | null {
  const [cls, sep] = ['[CLS]', '[SEP]'];
  const token = (id: string, type_id: number) => ({ SpecialToken: { id, type_id } });
  const sequence = (id: string, type_id: number) => ({ Sequence: { id, type_id } });
  if (!special.includes(cls) || !special.includes(sep)) return null;
  return {
    type: 'TemplateProcessing',
    single: [token(cls, 0), sequence('A', 0), token(sep, 0)],
    pair: [token(cls, 0), sequence('A', 0), token(sep, 0), sequence('B', 1), token(sep, 1)],
    special_tokens: Object.fromEntries([cls, sep].map((id) => [id, { id, ids: [special.indexOf(id)], tokens: [id] }])),
  };
}

const has = (stage: unknown, type: string) => JSON.stringify(stage ?? null).includes(`"type":"${type}"`);

/** The description that tokenizer/training.h reads. */
function toDescription(options: TrainOptions): Record<string, unknown> {
  const defaults = ownCopy(kDefaults[options.model]);
  const given = <Name extends keyof TrainOptions & keyof Defaults>(name: Name) =>
    options[name] === undefined ? (defaults[name] ?? null) : options[name];
  const unk = given('unk_token') as string | null;
  const named = strings('special_tokens', given('special_tokens'));
  const special = unk === null || named.includes(unk) ? named : [unk, ...named];

  const pre_tokenizer = given('pre_tokenizer');
  const prefix = given('continuing_subword_prefix');
  const alphabet = options.initial_alphabet ?? (has(pre_tokenizer, 'ByteLevel') && options.model === 'bpe' ? byteAlphabet() : null);
  const trainer = {
    ...Object.fromEntries(Object.keys(kTrainerRules).map((name) => [name, options[name as keyof TrainOptions]])),
    type: defaults.type,
    special_tokens: [...new Set(special)],
    unk_token: unk,
    continuing_subword_prefix: prefix,
    initial_alphabet:
      alphabet === null ? null : typeof alphabet === 'string' ? [...alphabet] : strings('initial_alphabet', alphabet),
  };

  const defaultDecoder = () => {
    if (options.model === 'wordpiece') return { type: 'WordPiece', prefix: prefix ?? '', cleanup: true };
    if (has(pre_tokenizer, 'ByteLevel')) return byteLevel;
    return has(pre_tokenizer, 'Metaspace') ? metaspace : null;
  };
  return {
    trainer,
    normalizer: given('normalizer'),
    pre_tokenizer,
    post_processor: options.post_processor === undefined ? bertTemplate(special) : options.post_processor,
    decoder: options.decoder === undefined ? (defaults.decoder ?? defaultDecoder()) : options.decoder,
  };
}

/** Texts in portions of suitable size. */
async function* portions(texts: TrainingTexts, signal: AbortSignalLike | undefined): AsyncGenerator<string[]> {
  const wrong = (expected: string, found: unknown) =>
    new InputError(`AutoTokenizer.train: expected ${expected}, found ${describe(found)}`);
  const source = typeof texts === 'string' ? [texts] : texts;
  let portion: string[] = [];
  let units = 0;
  let number = 0;
  for await (const text of itemsOf(source, signal, () => wrong('a string or an (async) iterable of strings', texts))) {
    if (typeof text !== 'string') throw wrong(`a string as text ${number}`, text);
    ++number;
    portion.push(text);
    units += text.length + 1;
    if (units < kFeedUnits) continue;
    yield portion;
    [portion, units] = [[], 0];
  }
  yield portion;
}

/** Makes a tokenizer from tokenizer.json and tokenizer_config.json. */
type Load = (files: NamedBytes[]) => Promise<Tokenizer>;

type Report = NonNullable<TrainOptions['progress_callback']>;

async function train(
  host: SeamHost<SeamTrainingHandle>,
  texts: TrainingTexts,
  options: TrainOptions,
  report: Report,
): Promise<Uint8Array> {
  const signal = options.signal ?? undefined;
  const breather = new Breather();
  const description = new TextEncoder().encode(JSON.stringify(toDescription(options)));
  host.call((handle) => handle.load(description));
  let count = 0;
  for await (const portion of portions(texts, signal)) {
    const { words } = host.call((handle) => handle.feed(portion));
    report({ status: 'read', texts: (count += portion.length), words });
    await breather.breathe(signal);
  }
  for (;;) {
    const { more, stage, done, total } = host.call((handle) => handle.step());
    if (!more) return host.call((handle) => handle.result()).tokenizer_json;
    report({ status: 'train', stage: stage as string, progress: (100 * (done as number)) / Math.max(1, total as number) });
    await breather.breathe(signal);
  }
}

export async function trainTokenizer(texts: TrainingTexts, options: TrainOptions, load: Load): Promise<TrainedTokenizer> {
  options = readOptions('AutoTokenizer.train', options, kRules);
  if (!options?.model) {
    const models = kModels.map((model) => `'${model}'`).join(', ');
    throw new InputError(`AutoTokenizer.train: option 'model': expected one of ${models}, found ${describe(options?.model)}`);
  }
  const signal = options.signal ?? undefined;
  throwIfAborted(signal);
  if (options.wasm) wasmFiles.given = options.wasm;
  const compiled = await abortable(compileWasm(false, wasmFiles), signal);
  const instance = await abortable(instantiateWasm(compiled), signal);
  const host = new SeamHost('this training', instance, trainingHandle(instance));
  const report: Report = plainCallback(options.progress_callback);
  let json: Uint8Array;
  try {
    json = await train(host, texts, options, report);
  } finally {
    host.release();
  }
  const config = options.model === 'wordpiece' ? {} : { model_input_names: ['input_ids', 'attention_mask'] };
  const kJson = 'tokenizer.json';
  const files: NamedBytes[] = [
    [kJson, json],
    ['tokenizer_config.json', new TextEncoder().encode(JSON.stringify(config))],
  ];
  const tokenizer = await load(files);
  const save = () => new TextDecoder().decode(files.find(([name]) => name === kJson)?.[1]); // tokens may have been added
  report({ status: 'ready' });
  return Object.assign(tokenizer, { save, toJSON: () => JSON.parse(save()) as Record<string, any> });
}
