// What evaluate() does.
import { plainCallback } from '../core/callback.js';
import { describe, InputError } from '../core/errors.js';
import { readOptions, type Rules } from '../core/options.js';
import { throwIfAborted } from '../core/signal.js';
import { Tensor } from '../core/tensor.js';
import type { AbortSignalLike } from '../core/types.js';
import type { Embeddings, LabelScore } from '../vectors/types.js';
import { Classifier } from '../vectors/classifier.js';
import { k_means } from '../vectors/clusters.js';
import { clusterMeasures, kRanked, labelMeasures, pearson, rankingMeasures, spearman } from '../vectors/measures.js';
import { best, dot, toUnit, toVectors } from '../vectors/similarity.js';
import type { FeatureExtractionPipeline } from '../tasks/embed_types.js';
import type {
  ClassificationOptions,
  ClusteringOptions,
  EvaluateProgress,
  LabelledText,
  RetrievalEvaluationOptions,
  RetrievalSet,
  ScoredSentences,
  StsOptions,
} from './evaluate_types.js';
import type { TextClassificationPipeline } from '../tasks/task_types.js';

/** Texts of one call. */
const kPortion = 256;

const kCommonRules: Rules = { progress_callback: 'any', signal: 'any' };

type Vector = Float64Array;
type Pipe = FeatureExtractionPipeline | TextClassificationPipeline;
type Read<Item, Result> = (items: Item[], options: { signal: AbortSignalLike | undefined }) => Promise<Result>;

interface Watch {
  progress_callback?: ((progress: EvaluateProgress) => unknown) | undefined;
  signal?: AbortSignalLike | undefined;
}

/** Reads items in portions and reports each. total: of all that this evaluation reads. */
function reader({ progress_callback, signal }: Watch, total: number) {
  const report = plainCallback(progress_callback);
  let done = 0;
  return async <Item, Part>(items: readonly Item[], read: Read<Item, readonly Part[]>): Promise<Part[]> => {
    const parts: Part[] = [];
    for (let at = 0; at < items.length; at += kPortion) {
      throwIfAborted(signal);
      const portion = items.slice(at, at + kPortion);
      for (const part of await read(portion, { signal })) parts.push(part);
      done += portion.length;
      report({ done, total });
    }
    return parts;
  };
}

/** A function of the pipeline as one that gives rows. */
const rowsOf =
  (embed: (texts: string[], options: { signal: AbortSignalLike | undefined }) => Promise<Embeddings>): Read<string, Vector[]> =>
  async (texts, options) =>
    toVectors('evaluate: vectors', await embed(texts, options));

function checkRows<Row>(data: unknown, fields: Readonly<Record<string, readonly string[]>>): asserts data is readonly Row[] {
  if (!Array.isArray(data)) throw new InputError(`evaluate: data: expected an array of rows, found ${describe(data)}`);
  if (data.length === 0) throw new InputError('evaluate: data: expected at least one row, found none');
  data.forEach((row: Record<string, unknown> | null, i) => {
    for (const [field, types] of Object.entries(fields)) {
      const value = row?.[field];
      if (!types.includes(typeof value) || (typeof value === 'number' && !Number.isFinite(value))) {
        throw new InputError(`evaluate: data[${i}]: ${field}: expected a ${types.join(' or a ')}, found ${describe(value)}`);
      }
    }
  });
}

const kSimilarities: Record<string, (a: Vector, b: Vector) => number> = {
  cosine: (a, b) => dot(toUnit(a), toUnit(b)),
  dot,
  euclidean: (a, b) => -Math.sqrt(a.reduce((sum, x, i) => sum + (x - (b[i] as number)) ** 2, 0)),
  manhattan: (a, b) => -a.reduce((sum, x, i) => sum + Math.abs(x - (b[i] as number)), 0),
};

async function ofSentences(embed: FeatureExtractionPipeline, data: readonly ScoredSentences[], options: StsOptions) {
  checkRows<ScoredSentences>(data, { sentence1: ['string'], sentence2: ['string'], score: ['number'] });
  if (data.length < 2) throw new InputError('evaluate: data: expected at least two pairs to correlate, found one');
  const name = options.similarity ?? 'cosine';
  const similarity = kSimilarities[name]!;
  const texts = [...new Set(data.flatMap(({ sentence1, sentence2 }) => [sentence1, sentence2]))];
  const vectors = await reader(options, texts.length)(texts, rowsOf(embed));
  const of = new Map(texts.map((text, i) => [text, vectors[i] as Vector]));
  const found = data.map(({ sentence1, sentence2 }) => similarity(of.get(sentence1)!, of.get(sentence2)!));
  const scores = data.map(({ score }) => score);
  return { [`pearson_${name}`]: pearson(found, scores), [`spearman_${name}`]: spearman(found, scores), pairs: data.length };
}

async function ofRetrieval(embed: FeatureExtractionPipeline, data: RetrievalSet, options: RetrievalEvaluationOptions) {
  const { corpus, queries, relevant } = (data ?? {}) as Partial<RetrievalSet>;
  checkRows<{ id: string; text: string; title?: string }>(corpus, { id: ['string'], text: ['string'] });
  checkRows<{ id: string; text: string }>(queries, { id: ['string'], text: ['string'] });
  if (typeof relevant !== 'object' || relevant === null)
    throw new InputError(`evaluate: relevant: expected an object of lists of ids, found ${describe(relevant)}`);
  const ids = corpus.map(({ id }) => id);
  const places = new Map(ids.map((id, place) => [id, place]));
  if (places.size < ids.length)
    throw new InputError(`evaluate: corpus: expected each id once, found ${ids.length - places.size} more`);
  const asked = queries.filter(({ id }) => Object.hasOwn(relevant, id) && relevant[id]!.length > 0);
  if (asked.length === 0) throw new InputError('evaluate: relevant: expected documents for at least one query, found none');
  for (const { id } of asked) {
    const missing = relevant[id]!.find((document) => !places.has(document));
    if (missing !== undefined)
      throw new InputError(`evaluate: relevant: expected documents of the corpus for query '${id}', found '${missing}'`);
  }
  const name = options.similarity ?? 'cosine';
  const ready = name === 'cosine' ? toUnit : (vector: Vector) => vector;
  const read = reader(options, corpus.length + asked.length);
  const texts = corpus.map(({ title, text }) => (title ? `${title} ${text}` : text));
  const documents = (await read(texts, rowsOf(embed.encode_document))).map(ready);
  const wanted = (await read(asked.map(({ text }) => text), rowsOf(embed.encode_query))).map(ready); // prettier-ignore
  // Equal scores are ranked by id, as there.
  const order = ids.map((_, place) => place).sort((a, b) => (ids[a]! < ids[b]! ? -1 : 1));
  const ranked: string[][] = [];
  for (const query of wanted) {
    throwIfAborted(options.signal);
    const scores = Float64Array.from(order, (place) => dot(query, documents[place] as Vector));
    ranked.push(best(scores, Math.min(kRanked, ids.length)).map(({ corpus_id }) => ids[order[corpus_id] as number] as string));
    if (ranked.length % 16 === 0) await new Promise((resolve) => setTimeout(resolve)); // so that a page draws
  }
  const measures = rankingMeasures(
    ranked,
    asked.map(({ id }) => new Set(relevant[id])),
  );
  const named = Object.entries(measures).map(([measure, value]) => [`${name}_${measure}`, value]);
  return { ...Object.fromEntries(named), queries: asked.length, documents: ids.length };
}

/** Labels as names. */
function namesOf(data: readonly LabelledText[], names: readonly string[] | undefined): string[] {
  return data.map(({ label }, i) => {
    if (!names || typeof label === 'string') return String(label);
    const name = names[label];
    if (name !== undefined) return name;
    throw new InputError(`evaluate: data[${i}]: label: expected one of ${names.length} labels, found ${label}`);
  });
}

const kLabelled = { text: ['string'], label: ['string', 'number'] };

async function ofLabels(pipe: Pipe, data: readonly LabelledText[], options: ClassificationOptions) {
  checkRows<LabelledText>(data, kLabelled);
  const expected = namesOf(data, options.labels);
  if (pipe.task !== 'feature-extraction') {
    const read: Read<LabelledText, LabelScore[]> = (rows, own) =>
      pipe(
        rows.map(({ text, text_pair }) => (text_pair === undefined ? text : { text, text_pair })),
        own,
      );
    const found = (await reader(options, data.length)(data, read)).map(({ label }) => label);
    const known = new Set(found);
    if (!expected.some((label) => known.has(label))) {
      throw new InputError(
        `evaluate: expected labels of the model, such as ${[...known].slice(0, 4).join(', ')}; found ${[...new Set(expected)].slice(0, 4).join(', ')} ` +
          "(option 'labels' names numbers)",
      );
    }
    return { ...labelMeasures(found, expected), texts: data.length };
  }
  const { train } = options;
  if (train === undefined)
    throw new InputError(
      "evaluate: expected a 'text-classification' pipeline, or texts to learn from (option 'train'), found neither",
    );
  checkRows<LabelledText>(train, kLabelled);
  const read = reader(options, train.length + data.length);
  const vectorsOf = async (rows: readonly LabelledText[]) => {
    const vectors = await read(
      rows.map(({ text }) => text),
      rowsOf(pipe),
    );
    const dim = vectors[0]!.length;
    const out = new Float32Array(vectors.length * dim);
    vectors.forEach((vector, i) => out.set(vector, i * dim));
    return new Tensor('float32', out, [vectors.length, dim]);
  };
  const classifier = await Classifier.fit(pipe, await vectorsOf(train), namesOf(train, options.labels), {
    calibrate: false,
    ...options.classifier,
    signal: options.signal,
  });
  const found = await classifier(await vectorsOf(data), { top_k: 1, signal: options.signal });
  const labels = found.map(({ label }) => label);
  return { ...labelMeasures(labels, expected), texts: data.length };
}

async function ofClusters(embed: FeatureExtractionPipeline, data: readonly LabelledText[], options: ClusteringOptions) {
  checkRows<LabelledText>(data, kLabelled);
  const texts = data.map(({ text }) => text);
  const names = namesOf(data, undefined);
  const clusters = new Set(names).size;
  const vectors = await reader(options, texts.length)(texts, rowsOf(embed));
  const { labels } = k_means(vectors.map(toUnit), clusters, { seed: options.seed ?? 0 });
  return { ...clusterMeasures([...labels], names), texts: texts.length, clusters };
}

const kRules: Record<string, Rules> = {
  sts: { similarity: ['cosine', 'dot', 'euclidean', 'manhattan'] },
  retrieval: { similarity: ['cosine', 'dot'] },
  classification: { train: 'any', classifier: 'any', labels: 'any' },
  clustering: { seed: 'index' },
};

/** See evaluate.ts. */
export async function evaluate(pipe: unknown, task: unknown, data: unknown, options: object): Promise<unknown> {
  const where = `evaluate('${task as string}')`;
  if (typeof task !== 'string' || !Object.hasOwn(kRules, task))
    throw new InputError(`evaluate: expected a task of ${Object.keys(kRules).join(', ')}, found ${describe(task)}`);
  options = readOptions(where, options, { ...kCommonRules, ...kRules[task] });
  const found = typeof pipe === 'function' ? (pipe as Pipe).task : undefined;
  const fits = found === 'feature-extraction' || (task === 'classification' && found === 'text-classification');
  if (!fits) {
    const wanted = task === 'classification' ? 'feature-extraction or text-classification' : 'feature-extraction';
    throw new InputError(`${where}: expected a pipeline for ${wanted}, found ${found ? `one for ${found}` : describe(pipe)}`);
  }
  const embed = pipe as FeatureExtractionPipeline;
  if (task === 'sts') return ofSentences(embed, data as ScoredSentences[], options);
  if (task === 'retrieval') return ofRetrieval(embed, data as RetrievalSet, options);
  if (task === 'clustering') return ofClusters(embed, data as LabelledText[], options);
  return ofLabels(pipe as Pipe, data as LabelledText[], options);
}
