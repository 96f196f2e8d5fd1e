// `wattn serve`: the model behind OpenAI's and text-embeddings-inference's routes. Loaded by itself when the command is used.
import { readFileSync } from 'node:fs';
import { basename } from 'node:path';
import { choice, computeOptions, count, flag, modelOf, noTexts, text, type Values } from './args.js';
import { listen, listenSettings } from './listen.js';
import type { PoolingMode } from '../entries/index.js';
import { kServedTasks, loadServed, type Served } from '../serve/models.js';
import { Metrics } from '../serve/metrics.js';
import { openAiRoutes } from '../serve/openai.js';
import type { RouteSettings } from '../serve/routes.js';
import { teiRoutes } from '../serve/tei.js';

/** A hub id as it is, of a path or URL its last part: a path says where things lie on this machine. */
function nameOf(model: string | undefined): string {
  if (model === undefined) return 'wattn-default';
  const isId = !/^(\.{0,2}\/|[a-z]+:)/i.test(model) && !model.includes('\\');
  return isId ? model : basename(model.replace(/[/\\]+$/, ''));
}

const versionOf = (): string =>
  (JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')) as { version: string }).version;

function settingsOf(values: Values) {
  const workers = count(values, 'workers') ?? 1;
  return {
    workers,
    clientBatch: count(values, 'max-client-batch-size') ?? 2048,
    batchTokens: count(values, 'max-batch-tokens') ?? 2048,
    autoTruncate: flag(values, 'auto-truncate') ?? false,
    pooling: text(values, 'pooling') as PoolingMode | undefined,
    task: choice(values, 'task', kServedTasks),
    version: versionOf(),
  };
}

export async function serve(values: Values, positionals: string[]): Promise<void> {
  noTexts(positionals);
  const listening = listenSettings(values);
  const settings = { ...settingsOf(values), concurrent: listening.concurrent };
  const model = modelOf(values);
  const name = text(values, 'served-model-name') ?? nameOf(model);
  const metrics = new Metrics();
  const served: Served = await loadServed({
    ...settings,
    model,
    name,
    load: computeOptions(values),
    onCall: (texts, tokens) => metrics.call(texts, tokens),
  });
  const routing: RouteSettings = { ...settings, served, created: Math.floor(Date.now() / 1000) };
  const routes = { ...openAiRoutes(routing), ...teiRoutes(routing) };
  const about = { model: name, task: served.task };
  await listen({ settings: listening, routes, metrics, waiting: () => served.batches.waiting, about }).finally(() =>
    served.dispose(),
  );
}
