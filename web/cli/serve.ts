// `wattn serve`: the model behind OpenAI's and text-embeddings-inference's routes. Loaded by itself when the command is used.
import { readFileSync } from 'node:fs';
import { basename } from 'node:path';
import { choice, computeOptions, count, flag, modelOf, noTexts, text, type Values } from './args.js';
import { write } from './lines.js';
import { onSignal } from './signals.js';
import { InputError, type PoolingMode } from '../entries/index.js';
import { kServedTasks, loadServed, type Served } from '../serve/models.js';
import { Metrics } from '../serve/metrics.js';
import { openAiRoutes } from '../serve/openai.js';
import type { RouteSettings } from '../serve/routes.js';
import { HttpServer } from '../serve/server.js';
import { teiRoutes } from '../serve/tei.js';

const kLoopback = ['127.0.0.1', '::1', 'localhost'];

/** A hub id as it is, of a path or URL its last part: a path says where things lie on this machine. */
function nameOf(model: string | undefined): string {
  if (model === undefined) return 'wattn-default';
  const isId = !/^(\.{0,2}\/|[a-z]+:)/i.test(model) && !model.includes('\\');
  return isId ? model : basename(model.replace(/[/\\]+$/, ''));
}

function portOf(values: Values): number {
  const port = text(values, 'port') ?? '8080';
  if (/^\d{1,5}$/.test(port) && Number(port) < 65536) return Number(port);
  throw new InputError(`--port: expected a number from 0 to 65535, found '${port}'`);
}

function originsOf(values: Values): string[] {
  const origins = (values['cors'] as string[] | undefined) ?? [];
  const wrong = origins.find((origin) => origin !== '*' && origin !== 'null' && !/^[a-z][a-z\d+.-]*:\/\/[^/]+$/.test(origin));
  if (wrong === undefined) return origins;
  throw new InputError(`--cors: expected an origin such as https://example.org, or *, found '${wrong}'`);
}

function keyOf(values: Values): string | undefined {
  const key = text(values, 'api-key') ?? process.env['WATTN_API_KEY'];
  if (key === undefined || /^[\x21-\x7e]+$/.test(key)) return key;
  throw new InputError('--api-key: expected letters, digits and signs of ASCII, found others or none');
}

const versionOf = (): string =>
  (JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')) as { version: string }).version;

function settingsOf(values: Values) {
  const workers = count(values, 'workers') ?? 1;
  return {
    workers,
    host: text(values, 'host') ?? '127.0.0.1',
    port: portOf(values),
    hosts: [...((values['allow-host'] as string[] | undefined) ?? []), text(values, 'host') ?? '127.0.0.1'],
    origins: originsOf(values),
    key: keyOf(values),
    payload: count(values, 'payload-limit') ?? 2_000_000,
    concurrent: count(values, 'max-concurrent-requests') ?? 512,
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
  const settings = settingsOf(values);
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
  const say = (line: string) => process.stderr.write(`wattn: ${line.replace(/\s*\n\s*/g, ' ')}\n`);
  const routes = { ...openAiRoutes(routing), ...teiRoutes(routing) };
  const server = new HttpServer(settings, routes, metrics, () => served.batches.waiting, say);
  const url = await server.listen().catch(async (error: { code?: string }) => {
    await served.dispose();
    throw new InputError(`--port: cannot listen on ${settings.host}:${settings.port}: ${error.code}`);
  });
  if (!kLoopback.includes(settings.host) && settings.key === undefined)
    say('everybody who reaches this machine may ask: --api-key KEY asks for a key');
  const ended = new Promise<void>((resolve) => onSignal(resolve));
  await write(`${JSON.stringify({ url, model: name, task: served.task })}\n`);
  await ended;
  await server.close();
  await served.dispose();
}
