// Readers written in TypeScript alone, tested through their modules.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Damage, decodeSegments, encodeSegment, type Segment } from '../../../web/search/segments.js';
import { StoredWords, WordsWriter } from '../../../web/search/stored_words.js';
import { bytesSource, openView } from '../../../web/source/bytes_source.js';
import { isWhole, readEntry, readPiece } from '../../../web/source/cache_entries.js';
import { Progress } from '../../../web/source/model_files.js';
import { readAdapter } from '../../../web/source/peft.js';
import { openRetrieval } from '../../../web/source/retrieval_files.js';
import { loadTensors } from '../../../web/source/safetensors.js';
import type { ModelSource, PieceStore } from '../../../web/source/source.js';
import { readSpanFiles } from '../../../web/source/span_files.js';
import { tiktokenToJson } from '../../../web/source/tiktoken.js';
import { openTorchFile } from '../../../web/source/torch_file.js';
import { openModelFiles, openWeightFile, streamWeights } from '../../../web/source/weight_files.js';
import { readTokenizerConfig, specialTokens } from '../../../web/tokenizer/config.js';
import { readClassifier, saveClassifier } from '../../../web/vectors/classifier/files.js';
import { WordVectors } from '../../../web/vectors/word_vectors.js';
import { damageJson, type Files, type Random } from './mutator.js';
import type { Target } from './target.js';

const goldens = 'tests/goldens';
const utf8 = new TextEncoder();
const read = (...path: string[]) => new Uint8Array(readFileSync(join(goldens, ...path)));
/** Files of a folder of goldens, by the names that they have in a repository. */
export const from = (folder: string, ...names: string[]): Files => new Map(names.map((name) => [name, read(folder, name)]));
/** All files of a folder of goldens but the largest and the answers. */
export function folder(name: string): Files {
  const names = readdirSync(join(goldens, name), { recursive: true, encoding: 'utf8' }).map((each) => each.replaceAll('\\', '/'));
  const files = names.filter((each) => /\.\w+$/.test(each) && !/^expected|\.f32$/.test(each));
  return from(name, ...files);
}

const file = (files: Files, name: string) => files.get(name) ?? new Uint8Array();

const signal = new AbortController().signal;
const sourceOf = (files: Files): ModelSource => bytesSource([['empty', new Uint8Array()], ...files]);
const silent = (source: ModelSource) => new Progress(source, undefined);

async function whole(files: Files, name: string, bytes: Uint8Array): Promise<Uint8Array> {
  const { chunks } = await openTorchFile(name, sourceOf(files).place(name), openView(bytes));
  const parts: Uint8Array[] = [];
  for await (const chunk of chunks()) parts.push(chunk.slice());
  return Buffer.concat(parts);
}

function storedWords(): Uint8Array {
  const words = new WordsWriter('manner');
  words.document(3);
  words.document(1);
  words.term('text', 2, [0, ~0, ~1, 2], [2, 1, 1, 1]);
  words.term('walk', 1, [2], [1]);
  words.word('walking', 1);
  words.title('title', [0, 2]);
  return words.bytes();
}

function readWords(files: Files): void {
  const words = StoredWords.read(file(files, 'words'), 2, 3);
  for (let term = 0; term < (words?.terms.length ?? 0); ++term) {
    words!.visit(term, (place) => {
      if (!((place < 0 ? ~place : place) < 3)) throw new Error(`a place beyond all rows: ${place}`);
    });
  }
}

/** An index with all that a segment can hold. */
const kSegment: Segment = {
  model: { name: 'tiny', dim: 4, precision: 'int8', probe: [1, -127, 0, 5] },
  documents: [
    { document: { id: 'a', text: 'one text', title: 'its title', more: { n: [1, null] } } as never, chunks: [0, 3, 4, 8] },
    { document: { id: 'b', text: 'two', vector: [1, 2] } as never, chunks: [0, 3], stale: true },
  ],
  deleted: ['c', 'd'],
  vectors: new Uint8Array(3 * (4 + 4)).map((_, i) => i),
  words: StoredWords.read(storedWords(), 2, 3),
};

const kPlace = { name: 'a segment', before: '' };

/** A segment whose hashes are right, but not its JSON. */
async function forgedSegment(_: Files, random: Random): Promise<Files> {
  const { stringify } = JSON;
  let left = random.below(kSegment.documents.length + kSegment.deleted.length + 1);
  // One of the texts that the writer makes is replaced: that of a document, of an id or of the head.
  JSON.stringify = ((...args: Parameters<typeof stringify>) => {
    const text = stringify(...args);
    JSON.stringify = left > 0 ? JSON.stringify : stringify;
    return left-- === 0 ? damageJson(text, random) : text;
  }) as typeof stringify;
  try {
    return new Map([['segment', (await encodeSegment(kSegment, kPlace)).bytes]]);
  } finally {
    JSON.stringify = stringify;
  }
}

async function readSegments(files: Files): Promise<void> {
  try {
    for await (const { documents } of decodeSegments('segment', file(files, 'segment'))) JSON.stringify(documents);
  } catch (error) {
    if (!(error instanceof Damage)) throw error; // what the log of segments names
  }
}

const kFitted = saveClassifier({
  kind: 'mlp',
  labels: ['a', 'b', 'c'],
  dim: 4,
  network: [
    { weight: Float64Array.from({ length: 8 }, Math.sin), bias: Float64Array.of(1, 2) },
    { weight: Float64Array.from({ length: 6 }, Math.cos), bias: Float64Array.of(1, 2, 3) },
  ],
  C: 1,
  temperature: 1.5,
  report: undefined,
  embed_options: { pooling: 'mean' },
} as Parameters<typeof saveClassifier>[0]);

const kWords = new WordVectors(['boat', 'sea', 'é'], Float32Array.of(1, 0, 0.5, 0.9, 0.1, -2, 3e-9, 1, 1), 3);

const kTiktoken = utf8.encode(
  [...Array.from({ length: 256 }, (_, i) => [i]), [97, 98], [97, 98, 99]]
    .map((bytes, rank) => `${btoa(String.fromCharCode(...bytes))} ${rank}\n`)
    .join(''),
);

/** What the engine says of a tokenizer whose class it does not know. */
const kFacts = {
  code: 0,
  message: '',
  vocab_size: 30,
  name: '',
  from: '',
  vocabulary: 'tokenizer.json',
  added_tokens: '',
  is_of_class: false,
  pads_left: false,
  is_bpe: false,
  decodes_by_table: false,
  decodes_first_alike: false,
  roles: [],
  extra: [],
};
const kEntry = { model: 'org/m', file: 'a.json', size: 5, etag: '"1"', pieces: ['e'.repeat(64)], accepted: true };

/** A store that has one file and its entry. */
function storeOf(files: Files): PieceStore {
  const nothing = async () => {};
  return { get: async (_, part) => files.get(part), put: nothing, delete: nothing, clear: nothing, keys: async () => [] };
}

async function readCached(files: Files): Promise<void> {
  const store = storeOf(files);
  const entry = await readEntry(store, 'key');
  if (!entry) return;
  isWhole(entry);
  for (let i = 0; i < Math.min(3, entry.pieces.length); ++i) await readPiece(store, 'key', entry, i);
}

/** The small files of a model, and its weights up to the engine. */
async function readModel(files: Files, more: string[] = []): Promise<void> {
  const source = sourceOf(files);
  const { single } = await openModelFiles(source, silent(source), signal, more);
  if (!single) return;
  await streamWeights(source, ['model.safetensors'], single, { begin() {}, push() {} }, silent(source), signal);
}

const kAdapterFiles = ['adapter_config.json', 'adapter_model.safetensors'];
const kSentences = ['config.json', 'tokenizer.json', 'tokenizer_config.json', 'modules.json', 'config_sentence_transformers.json'];

export const plain: Target[] = [
  { name: 'segment', seeds: [new Map()], damage: forgedSegment, read: readSegments },
  { name: 'segment bytes', seeds: [new Map([['segment', (await encodeSegment(kSegment, kPlace)).bytes]])], read: readSegments },
  { name: 'words of a segment', seeds: [new Map([['words', storedWords()]])], read: readWords },
  {
    name: 'adapter',
    seeds: ['bert', 'bert-all', 'bert-classes', 'llama'].map((name) => from(`peft/${name}`, ...kAdapterFiles)),
    read: (files) => readAdapter(kAdapterFiles.map((name) => [name, file(files, name)])),
  },
  {
    name: 'adapter of torch',
    seeds: [new Map([...from('peft/bert', 'adapter_config.json'), ['adapter_model.bin', read('torch/pytorch_model.bin')]])],
    read: async (files) => {
      const weights = await whole(files, 'adapter_model.bin', file(files, 'adapter_model.bin'));
      return readAdapter([
        ['adapter_config.json', file(files, 'adapter_config.json')],
        ['adapter_model.safetensors', weights],
      ]);
    },
  },
  {
    name: 'classifier',
    seeds: [new Map(Object.entries(kFitted) as [string, Uint8Array][])],
    read: (files) => readClassifier(file(files, 'classifier.json'), file(files, 'classifier.safetensors')),
  },
  ...([{}, { binary: true }, { format: 'glove' }] as const).map((options) => ({
    name: `word vectors ${JSON.stringify(options)}`,
    seeds: [new Map([['words', kWords.save(options)]])],
    read: (files: Files) => WordVectors.load(file(files, 'words'), options).most_similar('boat'),
  })),
  {
    name: 'tiktoken',
    seeds: [new Map([['qwen.tiktoken', kTiktoken]])],
    read: (files) => tiktokenToJson('qwen.tiktoken', file(files, 'qwen.tiktoken')),
  },
  {
    name: 'safetensors',
    seeds: ['dtypes', 'views', 'many'].map((name) => new Map([['x.safetensors', read('torch', `${name}.safetensors`)]])),
    read: (files) => loadTensors(file(files, 'x.safetensors'), 'x.safetensors'),
  },
  {
    name: 'tokenizer_config',
    seeds: [from('bert-tiny/model', 'tokenizer_config.json'), from('decoders/llama', 'tokenizer_config.json')],
    read: (files) => specialTokens(readTokenizerConfig([...files], kFacts), () => true),
  },
  {
    name: 'cache entry',
    seeds: [
      new Map([
        ['entry.json', utf8.encode(JSON.stringify(kEntry))],
        ['0', utf8.encode('12345')],
      ]),
    ],
    read: readCached,
  },
  {
    name: 'gliner',
    seeds: [
      from('spans/bert', 'gliner_config.json', 'tokenizer.json', 'tokenizer_config.json'),
      new Map([...from('spans_hub/org/tiny-v2.1', 'gliner_config.json'), ...from('bert-tiny/model', 'config.json')]),
      new Map([
        ...from('spans_bi/hub/org/tiny-bi', 'gliner_config.json'),
        ...from('spans_bi/hub/tiny-labels', 'config.json', 'tokenizer.json'),
      ]),
    ],
    read: (files) => {
      const source = sourceOf(files);
      const config = [...files].filter(([name]) => name === 'gliner_config.json');
      return readSpanFiles({ ...source, others: () => [source] }, config, silent(source), signal);
    },
  },
  {
    name: 'modules and router',
    seeds: [
      from('late-interaction/bert', 'modules.json', 'config.json'),
      from('sparse/router', 'modules.json', 'router_config.json'),
      from('late-interaction/original', 'artifact.metadata', 'config.json'),
    ],
    read: (files) => {
      const source = sourceOf(files);
      return openRetrieval(source, silent(source), signal, true);
    },
  },
  {
    name: 'files of a model',
    seeds: [
      from('sentence/model', 'modules.json', 'config_sentence_transformers.json', '2_Dense/config.json'),
      from('late-interaction/bert', ...kSentences, '1_Dense/config.json', 'model.safetensors'),
    ],
    read: (files) => readModel(files),
  },
  {
    name: 'static embeddings',
    seeds: ['model2vec-int8', 'model2vec-quantized', 'sentence', 'sentence-folder'].map((name) => folder(`static/${name}`)),
    read: (files) => readModel(files),
  },
  {
    name: 'shards',
    seeds: [
      new Map([['model.safetensors.index.json', utf8.encode('{"metadata":{"total_size":8},"weight_map":{"a":"a.safetensors"}}')]]),
    ],
    read: async (files) => {
      const source = sourceOf(files);
      await openModelFiles(source, silent(source), signal);
      await openWeightFile(source, 'a.safetensors', signal);
    },
  },
];
