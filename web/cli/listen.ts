// What commands that listen share: who may ask them, and where.
import { count, text, type Values } from './args.js';
import { write } from './lines.js';
import { onSignal } from './signals.js';
import { InputError } from '../entries/index.js';
import type { Metrics } from '../serve/metrics.js';
import type { Route } from '../serve/routes.js';
import { HttpServer, type ServerSettings } from '../serve/server.js';

const kLoopback = ['127.0.0.1', '::1', 'localhost'];

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
  throw new InputError('--api-key: expected printable ASCII characters, found others or none');
}

export function listenSettings(values: Values): ServerSettings {
  const host = text(values, 'host') ?? '127.0.0.1';
  return {
    host,
    port: portOf(values),
    hosts: [...((values['allow-host'] as string[] | undefined) ?? []), host],
    origins: originsOf(values),
    key: keyOf(values),
    payload: count(values, 'payload-limit') ?? 2_000_000,
    concurrent: count(values, 'max-concurrent-requests') ?? 512,
  };
}

interface Listening {
  settings: ServerSettings;
  routes: Record<string, Route>;
  metrics: Metrics;
  /** Requests that wait for the model. */
  waiting(): number;
  /** What is written beside the address. */
  about: object;
}

/** Answers until a signal ends it. */
export async function listen({ settings, routes, metrics, waiting, about }: Listening): Promise<void> {
  const say = (line: string) => process.stderr.write(`wattn: ${line.replace(/\s*\n\s*/g, ' ')}\n`);
  const server = new HttpServer(settings, routes, metrics, waiting, say);
  const url = await server.listen().catch((error: { code?: string }) => {
    throw new InputError(`--port: cannot listen on ${settings.host}:${settings.port}: ${error.code}`);
  });
  if (!kLoopback.includes(settings.host) && settings.key === undefined)
    say('anyone who can reach this machine can send requests: use --api-key KEY to require a key');
  const ended = new Promise<void>((resolve) => onSignal(resolve));
  await write(`${JSON.stringify({ url, ...about })}\n`);
  await ended;
  await server.close();
}
