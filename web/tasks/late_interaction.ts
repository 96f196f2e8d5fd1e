// late-interaction: a vector for each token; a document's score is the sum, over the query's vectors, of the largest product with one of its
// own. As in PyLate.
import { describe, InputError } from '../core/errors.js';
import type { Rules } from '../core/options.js';
import { topIndices } from '../core/scores.js';
import { Tensor } from '../core/tensor.js';
import { TensorBase } from '../core/tensor_base.js';
import { readTexts } from '../core/texts.js';
import { takeOptions, takeTopK, type Call, type Context, type Task, type TaskEngine, type TextOptions } from '../engine/task.js';
import { isArray, promptOf, runTexts, settingsOf, type Facts, type Role } from './retrieval.js';
import { hasM3 } from '../source/m3_layers.js';
import { kTokenPooling } from '../source/model_files.js';
import type { LateInteractionRankOptions, RankedDocument, Sparse, TokenVectors, TokenVectorsOptions } from './retrieval_types.js';

const kWhere = 'late-interaction';
const kEncodeRules: Rules = { prompt: 'string', prompt_name: 'string' };
const kRankRules: Rules = { top_k: 'any', return_documents: 'boolean' };
/** The first argument of a call that encodes. */
const kEncode = Symbol('encode');

interface Matrix {
  data: Float32Array; // [rows, dim]
  dim: number;
  /** bge-m3 has these beside them: then a score is the mean over a query's vectors. */
  dense?: Float32Array | undefined;
  sparse?: Sparse | undefined;
}

interface Encoded extends Matrix, Facts {
  ids: Int32Array; // [rows]
  offsets: Int32Array; // two numbers per row
}

/** A text, or what encode_document gave. */
type Item = string | Matrix;

interface Options extends TextOptions {
  role: Role;
  /** The query to rank for; absent: encode. */
  query?: string | Matrix;
}

type Result = Encoded | (Pick<Facts, 'truncated' | 'unknown'> & { score: number });

/** Sums in double precision, so that the order of a document's tokens changes nothing. */
function score(query: Matrix, document: Matrix): number {
  const { dim } = query;
  if (document.dim !== dim) throw new InputError(`${kWhere}: expected vectors of ${dim} components, found ${document.dim}`);
  const { data: a } = query;
  const { data: b } = document;
  if (b.length === 0) return 0;
  let sum = 0;
  for (let i = 0; i < a.length; i += dim) {
    let most = -Infinity;
    for (let j = 0; j < b.length; j += dim) {
      let product = 0;
      for (let k = 0; k < dim; ++k) product += (a[i + k] as number) * (b[j + k] as number);
      if (product > most) most = product;
    }
    sum += most;
  }
  return Math.fround(query.dense ? (sum * dim) / a.length : sum);
}

function toMatrix(what: string, value: unknown): Matrix {
  if (value instanceof TensorBase && value.dims.length === 2 && isArray(value.data, 'Float32Array'))
    return { data: value.data as Float32Array, dim: value.dims[1] as number, dense: (value as Partial<TokenVectors>).dense };
  throw new InputError(
    `${kWhere}: ${what}: expected a text, or vectors of encode_query or encode_document, found ${describe(value)}`,
  );
}

const toItem = (what: string, value: unknown): Item => (typeof value === 'string' ? value : toMatrix(what, value));

/** What Python's str.strip removes, which PyLate applies to every text. */
const kSpace = '[\\t-\\r\\x1c-\\x20\\x85\\xa0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000]';
const kSpaceBefore = new RegExp(`^${kSpace}+`);
const kSpaceAfter = new RegExp(`(?<!${kSpace})${kSpace}+$`);

/** A text as it runs, and the distance of its places from those in the given text. */
interface Ready {
  text: string;
  shift: number;
}

/** PyLate has one default prompt; sentence-transformers one for queries and one for documents. */
function prepareText(engine: Pick<TaskEngine, 'files'>, role: Role, given: { prompt?: string; prompt_name?: string }) {
  const settings = settingsOf(engine);
  const isOwn = settings.model_type === 'MultiVectorEncoder' || hasM3(engine.files);
  const prompt = promptOf(kWhere, settings, isOwn ? role : undefined, given);
  return (text: string): Ready => {
    const whole = prompt + text;
    if (isOwn) return { text: whole, shift: -prompt.length };
    const cut = whole.replace(kSpaceBefore, '');
    return { text: cut.replace(kSpaceAfter, ''), shift: whole.length - cut.length - prompt.length };
  };
}

function toVectors({ data, dim, ids, offsets, tokens, truncated, unknown, dense, sparse }: Encoded): TokenVectors {
  const tensor = new Tensor('float32', data, [ids.length, dim]);
  const others = dense && sparse && { dense, sparse: { ...sparse, tokens, truncated, unknown } };
  return Object.assign(tensor, { ids, offsets, tokens, truncated, unknown, ...others });
}

function prepareEncode(engine: Pick<TaskEngine, 'files'>, role: Role, texts: unknown, given: unknown): Call<Item, Options, Result> {
  const where = `${kWhere}.encode_${role}`;
  const { options, signal } = takeOptions<TokenVectorsOptions>(where, given, kEncodeRules);
  const list = readTexts(where, texts);
  const { prompt, prompt_name, ...rest } = options;
  const named = { ...(prompt !== undefined && { prompt }), ...(prompt_name !== undefined && { prompt_name }) };
  const ready = prepareText(engine, role, named);
  const items = list.map(ready);
  return {
    items: items.map(({ text }) => text),
    options: { ...rest, role },
    signal,
    finish(results) {
      const out = (results as Encoded[]).map((encoded, i) => {
        const { shift } = items[i] as Ready;
        const { offsets } = encoded;
        // Special tokens have the span 0, 0, and so have those of a prompt.
        for (let at = 0; shift !== 0 && at < offsets.length; at += 2) {
          const [begin, end] = [offsets[at] as number, offsets[at + 1] as number];
          if (end === 0) continue;
          offsets[at] = Math.max(0, begin + shift);
          offsets[at + 1] = Math.max(0, end + shift);
        }
        return toVectors(encoded);
      });
      return typeof texts === 'string' ? out[0] : out;
    },
  };
}

/** Vectors of texts, in order. */
async function encode(engine: TaskEngine, texts: readonly string[], options: Options, context: Context): Promise<Encoded[]> {
  const out: Encoded[] = [];
  const hasPooling = engine.files.some(([name]) => name === kTokenPooling);
  const part = hasPooling ? await import('./token_pooling.js') : undefined;
  const pooling = part?.readTokenPooling(engine.files);
  let at = 0;
  let weights = 0; // of the same job, like at
  let last: unknown;
  await runTexts(
    kWhere,
    engine,
    texts,
    { ...options, is_query: options.role === 'query' },
    context,
    (handle, some, seamOptions, steps) => handle.token_vectors(some, seamOptions, steps),
    (answer, text, facts) => {
      if (answer !== last) at = weights = 0;
      last = answer;
      const { data, dim, ids, offsets, dense, indices, values, counts } = answer;
      const width = (dense?.length ?? 0) / answer.rows.length;
      const before = weights;
      weights += counts?.[text] ?? 0;
      const sparse = indices && values && { indices: indices.slice(before, weights), values: values.slice(before, weights) };
      const end = at + (answer.rows[text] as number);
      const encoded = {
        data: data.slice(at * dim, end * dim),
        dim,
        ids: ids.slice(at, end),
        offsets: offsets.slice(2 * at, 2 * end),
        ...(dense && { dense: dense.slice(text * width, (text + 1) * width), sparse }),
        ...facts,
      };
      out.push(pooling ? part!.poolTokens(encoded, options.role, pooling) : encoded);
      at = end;
    },
  );
  return out;
}

export const lateInteraction: Task<Item, Options, Result> = {
  head: 'token_vectors',

  prepare([query, against, given, more], engine) {
    if (query === kEncode) return prepareEncode(engine, against as Role, given, more);
    const { options, signal, own } = takeOptions<LateInteractionRankOptions>(kWhere, given, kRankRules);
    const top_k = takeTopK(kWhere, own, Infinity);
    const { return_documents, top_k: _top_k, ...rest } = options;
    if (!Array.isArray(against)) throw new InputError(`${kWhere}: documents: expected an array, found ${describe(against)}`);
    const documents: unknown[] = [...against];
    const ready = { query: prepareText(engine, 'query', {}), document: prepareText(engine, 'document', {}) };
    const toReady = (what: string, value: unknown, role: Role) => {
      const item = toItem(what, value);
      return typeof item === 'string' ? ready[role](item).text : item;
    };
    return {
      items: documents.map((document, i) => toReady(`documents: ${i}`, document, 'document')),
      options: { ...rest, role: 'document', query: toReady('query', query, 'query') },
      signal,
      finish: (results) =>
        topIndices(
          results.map((result) => (result as { score: number }).score),
          top_k,
        ).map((corpus_id): RankedDocument => {
          const { score, truncated, unknown } = results[corpus_id] as RankedDocument;
          const text: unknown = documents[corpus_id];
          return { corpus_id, score, ...(return_documents && typeof text === 'string' && { text }), truncated, unknown };
        }),
    };
  },

  async run(engine, items, options, context) {
    const { query, ...rest } = options;
    if (query === undefined) return encode(engine, items as string[], rest, context);
    if (items.length === 0) return [];
    // The query's own length is the repository's; max_length and on_overflow are of documents.
    const { split_special_tokens } = options;
    const own: Options = { role: 'query', ...(split_special_tokens !== undefined && { split_special_tokens }) };
    const against = typeof query === 'string' ? ((await encode(engine, [query], own, context))[0] as Matrix) : query;
    const out: Result[] = [];
    const kPart = 64; // the vectors of a part are held at once
    for (let begin = 0; begin < items.length; begin += kPart) {
      const part = items.slice(begin, begin + kPart);
      const texts = part.filter((item) => typeof item === 'string');
      const encoded = await encode(engine, texts, rest, { ...context, first: context.first + begin });
      let next = 0;
      for (const item of part) {
        const { truncated, unknown } = typeof item === 'string' ? (encoded[next] as Encoded) : { truncated: false, unknown: 0 };
        const document = typeof item === 'string' ? (encoded[next++] as Encoded) : item;
        out.push({ score: score(against, document), truncated, unknown });
      }
    }
    return out;
  },

  extend: (pipe) => ({
    encode_query: (texts: unknown, options?: unknown) => pipe(kEncode, 'query', texts, options),
    encode_document: (texts: unknown, options?: unknown) => pipe(kEncode, 'document', texts, options),
    max_sim(query: unknown, documents: unknown) {
      const against = toMatrix('query', query);
      if (!Array.isArray(documents)) return score(against, toMatrix('documents', documents));
      return documents.map((document, i) => score(against, toMatrix(`documents: ${i}`, document)));
    },
  }),
};
