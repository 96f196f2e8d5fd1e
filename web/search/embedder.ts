// What an index needs of a model: chunks and vectors of unit length.
import { checkAnswer } from '../core/answers.js';
import { describe, InputError } from '../core/errors.js';
import { concat } from '../core/texts.js';
import type { AbortSignalLike } from '../core/types.js';
import type { AnyEngine } from '../engine/engine.js';
import { engineOf } from '../engine/loaded.js';
import type { FeatureExtractionPipeline } from '../tasks/embed_types.js';
import { documentPrompt } from '../tasks/pipeline.js';
import { toVectors } from '../vectors/similarity.js';
import type { Embeddings } from '../vectors/types.js';
import type { VectorModel } from './stored_documents.js';
import { trustIn } from './trust.js';
import type { ChunkFunction, EmbedFunction, IndexOptions } from './types.js';

const kMaxTokens = 256;
/** Texts of one call. */
const kPortion = 256;
/** A model is known again by the vector of this text. Data types of weights move it by far less than other weights do. */
const kProbe = 'A model is known by the vector it gives this sentence.';
const kSameModel = 0.98;

type Kind = 'query' | 'document';

/** Unit rows, cut to dim numbers if there are more. */
function unitRows(where: string, rows: readonly Float64Array[], dim: number | undefined): { data: Float32Array; dim: number } {
  const width = Math.min(rows[0]?.length ?? 0, dim ?? Infinity);
  const data = new Float32Array(rows.length * width);
  rows.forEach((row, i) => {
    if (row.length < width || (dim === undefined && row.length !== width)) {
      throw new InputError(`${where}: expected vectors of one length, found ${width} and ${row.length}`);
    }
    let sum = 0;
    for (let j = 0; j < width; ++j) sum += row[j]! * row[j]!;
    if (!Number.isFinite(sum)) throw new InputError(`${where}: expected finite numbers, found others in vector ${i}`);
    const norm = sum === 0 ? 1 : Math.sqrt(sum);
    for (let j = 0; j < width; ++j) data[i * width + j] = row[j]! / norm;
  });
  return { data, dim: width };
}

const isNumbers = (value: unknown): value is ArrayLike<unknown> =>
  Array.isArray(value) || (ArrayBuffer.isView(value) && 'length' in value);

/** A tensor may be another library's: its numbers must be as many as its shape says. Anything else is checked by `toVectors`. */
function checkTensor<T>(where: string, value: T): T {
  if (typeof value !== 'object' || value === null || !('dims' in value) || !('data' in value)) return value;
  const { dims, data } = value;
  const isShape = Array.isArray(dims) && dims.every((dim) => Number.isInteger(dim) && dim >= 0);
  const count = isNumbers(data) ? data.length : undefined;
  if (isShape && count === dims.reduce((product: number, dim: number) => product * dim, 1)) return value;
  const found = `dims ${isShape ? `[${dims}]` : describe(dims)} and ${count === undefined ? describe(data) : `${count} numbers`}`;
  throw new InputError(`${where}: expected a Tensor, found ${found}`);
}

/** The same model, maybe with other data types. */
export function isSameModel(a: VectorModel, b: Pick<VectorModel, 'dim' | 'probe'>): boolean {
  if (a.dim !== b.dim || a.probe.length !== b.probe.length) return false;
  let [dot, first, second] = [0, 0, 0];
  a.probe.forEach((x, i) => {
    dot += x * b.probe[i]!;
    first += x * x;
    second += b.probe[i]! ** 2;
  });
  return dot >= kSameModel * Math.sqrt(first * second);
}

export class Embedder {
  private readonly engine: AnyEngine | undefined;
  private readonly chunks: Exclude<IndexOptions['chunk'], undefined>;
  private readonly dim: number | undefined;
  private known: Promise<Omit<VectorModel, 'precision'>> | undefined;

  constructor(
    private readonly embed: FeatureExtractionPipeline | EmbedFunction,
    { chunk, truncate_dim, model }: Pick<IndexOptions, 'chunk' | 'truncate_dim' | 'model'>,
  ) {
    if (typeof embed !== 'function')
      throw new InputError(`Index: option 'embed': expected a pipeline or a function, found ${describe(embed)}`);
    this.engine = engineOf(embed);
    if (this.engine && (embed as { task?: string }).task !== 'feature-extraction') {
      throw new InputError(
        `Index: option 'embed': expected pipeline('feature-extraction'), found pipeline('${(embed as { task?: string }).task}')`,
      );
    }
    this.dim = truncate_dim ?? undefined;
    this.chunks = chunk ?? (this.engine ? {} : false);
    if (typeof this.chunks === 'object' && !this.engine) {
      throw new InputError("Index: option 'chunk': a function that embeds has no tokenizer; pass a function, or false");
    }
    this.name = model ?? undefined;
  }

  private name: string | undefined;
  private framed: Promise<{ prompt: number; special: number }> | undefined;

  /** What surrounds the text of a query: the tokens of its prompt, and special ones. */
  private frame(): Promise<{ prompt: number; special: number }> {
    const embed = this.embed as FeatureExtractionPipeline;
    this.framed ??= (async () => {
      const special = (await embed([''], { prompt: '' })).tokens[0]!;
      return { special, prompt: (await embed.encode_query([''])).tokens[0]! - special };
    })();
    this.framed.catch(() => (this.framed = undefined));
    return this.framed;
  }

  private async vectors(
    texts: string[],
    kind: Kind,
    signal: AbortSignalLike | undefined,
  ): Promise<{ data: Float32Array; dim: number; said: Pick<Embeddings, 'tokens' | 'unknown'> | undefined }> {
    const where = 'Index: embed';
    const { embed, engine } = this;
    const out = engine
      ? await (embed as FeatureExtractionPipeline)[`encode_${kind}`](texts, { signal, normalize: true })
      : await (embed as EmbedFunction)(texts, kind);
    const rows = toVectors(where, engine ? out : checkTensor(where, out));
    if (rows.length !== texts.length) throw new InputError(`${where}: expected ${texts.length} vectors, found ${rows.length}`);
    return { ...unitRows(where, rows, this.dim), said: engine ? (out as Embeddings) : undefined };
  }

  /** The model, by what it computes. */
  model(): Promise<Omit<VectorModel, 'precision'>> {
    this.known ??= this.vectors([kProbe], 'document', undefined).then(({ data, dim }) => {
      const most = data.reduce((a, b) => Math.max(a, Math.abs(b)), 0) || 1;
      const { model_type, num_hidden_layers, hidden_size } = this.engine?.info ?? {};
      const name = this.name ?? (this.engine ? `${model_type} ${num_hidden_layers} x ${hidden_size}` : 'function');
      return { name, dim, probe: Array.from(data, (x) => Math.round((127 * x) / most)) };
    });
    this.known.catch(() => (this.known = undefined));
    return this.known;
  }

  /** trust: from 0 to 1, how well the model reads this text; 1 for a function, which does not say. */
  async query(text: string, signal: AbortSignalLike | undefined): Promise<{ vector: Float32Array; trust: number }> {
    const { data, said } = await this.vectors([text], 'query', signal);
    if (!said) return { vector: data, trust: 1 };
    const { prompt, special } = await this.frame();
    const tokens = said.tokens[0]! - special; // with the prompt, as in `unknown`
    return { vector: data, trust: trustIn(text, tokens - prompt, Math.round(said.unknown[0]! * tokens)) };
  }

  /** [texts, dim]. report: told how many are done, now and then. */
  async documents(
    texts: readonly string[],
    report: (done: number) => void,
    signal: AbortSignalLike | undefined,
  ): Promise<Float32Array> {
    const parts: Float32Array[] = [];
    for (let at = 0; at < texts.length; at += kPortion) {
      parts.push((await this.vectors(texts.slice(at, at + kPortion), 'document', signal)).data);
      report(Math.min(at + kPortion, texts.length));
    }
    return concat(Float32Array, parts);
  }

  /** Places of the chunks of each text, two numbers each. */
  async chunk(
    items: readonly { id: string; text: string; before: string }[],
    signal: AbortSignalLike | undefined,
  ): Promise<number[][]> {
    const { chunks, engine } = this;
    if (chunks === false) return items.map(({ text }) => [0, text.length]);
    if (typeof chunks === 'function') return Promise.all(items.map(({ id, text }) => ownChunks(chunks, text, id)));
    const max_tokens = Math.min(chunks.max_tokens ?? kMaxTokens, engine!.info.max_length);
    const prompt = documentPrompt(engine!);
    const texts = items.map(({ text, before }) => ({ text, before: prompt + before }));
    return (await engine!.run('chunk', texts, { max_tokens, overlap: chunks.overlap ?? 0 }, signal)) as number[][];
  }
}

async function ownChunks(chunks: ChunkFunction, text: string, id: string): Promise<number[]> {
  const where = `Index: option 'chunk': document '${id}'`;
  const out: number[] = [];
  const isList = (value: unknown) => typeof value === 'object' && value !== null && Symbol.iterator in value;
  for (const place of checkAnswer<Iterable<unknown>>(where, await chunks(text), 'an array of { start, end }', isList)) {
    const { start, end } = Object(place) as { start: number; end: number };
    if (!Number.isInteger(start) || !Number.isInteger(end) || start < 0 || end < start || end > text.length) {
      throw new InputError(`${where}: expected offsets in a text of ${text.length}, found ${describe(start)} to ${describe(end)}`);
    }
    out.push(start, end);
  }
  if (out.length === 0) throw new InputError(`${where}: expected at least one chunk, found none`);
  return out;
}
