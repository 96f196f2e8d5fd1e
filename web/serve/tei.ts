// The routes of Hugging Face's text-embeddings-inference, after its OpenAPI document.
import { describe } from '../core/errors.js';
import type { Rules } from '../core/options.js';
import type { LabelScore } from '../entries/index.js';
import { otherModel, wrongRequest } from './http_error.js';
import { scoreOf, type Pair } from './models.js';
import { checkWhole, jsonOf, limited, readBody, readInputs, servedAs, type Route, type RouteSettings } from './routes.js';

const kShared: Rules = { truncate: 'boolean', truncation_direction: ['Right', 'right'] };

interface Shared {
  truncate?: boolean;
}
interface EmbedBody extends Shared {
  inputs: unknown;
  normalize?: boolean;
  prompt_name?: string;
  dimensions?: number;
}
interface PredictBody extends Shared {
  inputs: unknown;
  raw_scores?: boolean;
}
interface RerankBody extends Shared {
  query?: string;
  texts: unknown;
  raw_scores?: boolean;
  return_text?: boolean;
}

const wrong = (message: string, param?: string) => wrongRequest('tei', message, param);

const embed = (settings: RouteSettings): Route['run'] =>
  async function (body, signal) {
    const rules: Rules = { ...kShared, inputs: 'any', normalize: 'boolean', prompt_name: 'string', dimensions: 'count' };
    const given = readBody<EmbedBody>('tei', '/embed', body, rules);
    const { batches, info } = servedAs('tei', '/embed', settings.served, 'feature-extraction');
    const texts = readInputs('tei', 'inputs', given.inputs, settings);
    const { normalize = true, prompt_name, dimensions: truncate_dim } = given;
    if (truncate_dim !== undefined && truncate_dim > info.hidden_size)
      throw wrong(`dimensions: expected at most ${info.hidden_size}, found ${truncate_dim}`, 'dimensions');
    const answers = await batches.ask(texts, { normalize, truncate_dim, prompt_name }, signal);
    checkWhole('tei', 'inputs', answers, given.truncate ?? settings.autoTruncate);
    return `[${answers.map(({ result }) => jsonOf(result)).join(',')}]`;
  };

const embedSparse = (settings: RouteSettings): Route['run'] =>
  async function (body, signal) {
    const given = readBody<EmbedBody>('tei', '/embed_sparse', body, { ...kShared, inputs: 'any', prompt_name: 'string' });
    const { batches } = servedAs('tei', '/embed_sparse', settings.served, 'sparse-encoding');
    const texts = readInputs('tei', 'inputs', given.inputs, settings);
    const answers = await batches.ask(texts, { prompt_name: given.prompt_name }, signal);
    checkWhole('tei', 'inputs', answers, given.truncate ?? settings.autoTruncate);
    return JSON.stringify(
      answers.map(({ result: { indices, values } }) => Array.from(indices, (index, i) => ({ index, value: values[i] as number }))),
    );
  };

/** A text, a pair, or a list of both, each in a list of its own. */
function readPairs(inputs: unknown, settings: RouteSettings): { items: Pair[]; isList: boolean } {
  const isTexts = (value: unknown): value is string[] => Array.isArray(value) && value.every((each) => typeof each === 'string');
  const toPair = (texts: string[]): Pair => {
    const [text, text_pair] = texts;
    return text_pair === undefined ? (text as string) : { text: text as string, text_pair };
  };
  const fits = (texts: string[], least: number) => texts.length >= least && texts.length <= 2;
  if (typeof inputs === 'string') return { items: [inputs], isList: false };
  if (isTexts(inputs) && fits(inputs, 2)) return { items: [toPair(inputs)], isList: false };
  if (Array.isArray(inputs) && inputs.length > 0 && inputs.every((each) => isTexts(each) && fits(each, 1)))
    return { items: limited('tei', 'inputs', inputs.map(toPair), settings.clientBatch), isList: true };
  throw wrong(
    `inputs: expected a text, a pair of texts, or a list of [text] and [text, text], found ${describe(inputs)}`,
    'inputs',
  );
}

const predict = (settings: RouteSettings): Route['run'] =>
  async function (body, signal) {
    const given = readBody<PredictBody>('tei', '/predict', body, { ...kShared, inputs: 'any', raw_scores: 'boolean' });
    const { batches } = servedAs('tei', '/predict', settings.served, 'text-classification');
    const { items, isList } = readPairs(given.inputs, settings);
    const answers = await batches.ask(items, { function_to_apply: given.raw_scores ? 'none' : undefined }, signal);
    checkWhole('tei', 'inputs', answers, given.truncate ?? settings.autoTruncate);
    const labels = answers.map(({ result }) => result.map(({ label, score }) => ({ label, score })));
    return JSON.stringify(isList ? labels : labels[0]);
  };

const rerank = (settings: RouteSettings): Route['run'] =>
  async function (body, signal) {
    const rules: Rules = { ...kShared, query: 'string', texts: 'any', raw_scores: 'boolean', return_text: 'boolean' };
    const given = readBody<RerankBody>('tei', '/rerank', body, rules);
    const { batches, labels, name } = servedAs('tei', '/rerank', settings.served, 'text-classification');
    if (labels.length !== 1)
      throw otherModel('tei', `/rerank: expected a cross-encoder, with one label, found '${name}', with ${labels.length} labels`);
    const { query } = given;
    if (query === undefined) throw wrong('query: expected a text, found none', 'query');
    const texts = Array.isArray(given.texts) ? readInputs('tei', 'texts', given.texts, settings) : undefined;
    if (!texts) throw wrong(`texts: expected a list of texts, found ${describe(given.texts)}`, 'texts');
    const empty = texts.indexOf('');
    if (empty >= 0) throw wrong(`texts[${empty}]: expected a text, found an empty one`, 'texts');
    const items = texts.map((text_pair) => ({ text: query, text_pair }));
    const answers = await batches.ask(items, { function_to_apply: 'none' }, signal);
    checkWhole('tei', 'texts', answers, given.truncate ?? settings.autoTruncate);
    const logits = answers.map(({ result }) => (result[0] as LabelScore).score);
    const ranks = logits.map((logit, index) => ({
      index,
      score: given.raw_scores ? logit : scoreOf(logit),
      ...(given.return_text && { text: texts[index] }),
    }));
    return JSON.stringify(ranks.sort((a, b) => b.score - a.score || a.index - b.index));
  };

function info(settings: RouteSettings): Route['run'] {
  const { served, autoTruncate, clientBatch, concurrent, batchTokens, workers, version } = settings;
  const classifier = (labels: readonly string[]) => ({
    id2label: Object.fromEntries(labels.map((label, i) => [i, label])),
    label2id: Object.fromEntries(labels.map((label, i) => [label, i])),
  });
  return () => {
    if (served.task === 'text-generation') throw otherModel('tei', `/info: expected a model that embeds, classifies or ranks, found '${served.name}'`); // prettier-ignore
    const model_type =
      served.task === 'text-classification'
        ? { [served.labels.length === 1 ? 'reranker' : 'classifier']: classifier(served.labels) }
        : { embedding: { pooling: served.task === 'sparse-encoding' ? 'splade' : (settings.pooling ?? 'default') } };
    return JSON.stringify({
      model_id: served.name,
      model_sha: null,
      model_dtype: served.info.dtype,
      model_type,
      max_concurrent_requests: concurrent,
      max_input_length: served.info.max_length,
      max_batch_tokens: batchTokens,
      max_batch_requests: null,
      max_client_batch_size: clientBatch,
      auto_truncate: autoTruncate,
      tokenization_workers: workers,
      version,
      sha: null,
      docker_label: null,
    });
  };
}

export function teiRoutes(settings: RouteSettings): Record<string, Route> {
  const post = (run: Route['run']): Route => ({ method: 'POST', dialect: 'tei', run });
  const routes = {
    '/embed': post(embed(settings)),
    '/embed_sparse': post(embedSparse(settings)),
    '/predict': post(predict(settings)),
    '/rerank': post(rerank(settings)),
    '/info': { ...post(info(settings)), method: 'GET' as const },
  };
  const { served } = settings;
  // What clients ask that know only the server's address.
  const own = {
    'feature-extraction': '/embed',
    'sparse-encoding': '/embed_sparse',
    'text-classification': '/predict',
    'text-generation': undefined,
  } as const;
  const first = served.task === 'text-classification' && served.labels.length === 1 ? '/rerank' : own[served.task];
  return first ? { ...routes, '/': routes[first] } : routes;
}
