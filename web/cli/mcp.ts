// `wattn mcp`: tools of wattn for language models, over standard input and output or over HTTP. Loaded by itself when the command is used.
import { readFileSync } from 'node:fs';
import { computeOptions, count, flag, given, list, modelOf, text, type Values } from './args.js';
import { readDocuments } from './files.js';
import { linesOf, write } from './lines.js';
import { listen, listenSettings } from './listen.js';
import { readOptions, type Rules } from '../core/options.js';
import { describe } from '../core/errors.js';
import {
  Index,
  InputError,
  pipeline,
  redact,
  type FeatureExtractionPipeline,
  type IndexOptions,
  type IndexSearchOptions,
  type ZeroShotNerPipeline,
} from '../entries/index.js';
import { McpServer, mcpRoute, type Tool } from '../serve/mcp.js';
import { Metrics } from '../serve/metrics.js';
import type { ServerSettings } from '../serve/server.js';

const kModes = ['hybrid', 'words', 'meaning'] as const;
const kMostTexts = 256;
/** How long a search waits for new files to be read; clients give up after a minute. */
const kWaitMs = 10_000;

/** The documents under folders, in an index that follows them. */
class Folders {
  private index: Promise<Index> | undefined;
  private scanning: Promise<void> | undefined;
  private progress = 'the documents are being indexed';

  constructor(
    private readonly paths: readonly string[],
    private readonly embed: () => Promise<FeatureExtractionPipeline> | undefined,
    private readonly chunk: IndexOptions['chunk'],
  ) {}

  /** As the files are now, or, while many are new, as far as they were read: then `left` says what is not. */
  async current(): Promise<{ index: Index; left: string | undefined }> {
    this.index ??= (async () => Index.open('folders', { embed: await this.embed(), store: 'memory', chunk: this.chunk } as IndexOptions))(); // prettier-ignore
    const index = await this.index;
    this.scanning ??= this.scan(index).finally(() => (this.scanning = undefined));
    const whole = this.scanning.then(() => true);
    whole.catch(() => {}); // it may fail after the wait; then the next search says it
    let timer: NodeJS.Timeout | undefined;
    const waited = new Promise<false>((resolve) => (timer = setTimeout(() => resolve(false), kWaitMs)));
    const isWhole = await Promise.race([whole, waited]).finally(() => clearTimeout(timer));
    return { index, left: isWhole ? undefined : this.progress };
  }

  private async scan(index: Index): Promise<void> {
    const { documents } = await readDocuments(this.paths);
    const present = new Set(documents.map(({ id }) => id));
    const work = index.add(documents);
    for await (const { done, total } of work) this.progress = `indexed ${done} of ${total} new or changed documents`;
    await work;
    await index.delete(index.ids().filter((id) => !present.has(id)));
  }

  async textOf(id: string): Promise<string> {
    const { documents } = await readDocuments(this.paths);
    const found = documents.find((document) => document.id === id);
    if (found) return String(found.text);
    throw new InputError(`redact: id: expected an id from search, found '${id}'`);
  }
}

function readText(tool: string, name: string, value: unknown): string {
  if (typeof value === 'string') return value;
  throw new InputError(`${tool}: ${name}: expected a text, found ${describe(value)}`);
}

function searchTool(folders: Folders, paths: readonly string[]): Tool {
  return {
    description: `Finds passages by keyword and semantic search in the texts under ${paths.join(', ')}. Best first; a hit has the document's id, the passage and its position in the text.`,
    inputSchema: {
      type: 'object',
      properties: {
        query: { type: 'string', description: 'What to search for, in plain language.' },
        top_k: { type: 'integer', minimum: 1, maximum: 100, description: 'Maximum number of hits. Default 5.' },
        mode: { type: 'string', enum: kModes, description: 'Default hybrid: keyword and semantic search.' },
      },
      required: ['query'],
      additionalProperties: false,
    },
    async run(args, signal) {
      const { query, top_k, mode } = readOptions('search', args, { query: 'string', top_k: 'count', mode: kModes });
      const options = given({ top_k: (top_k as number | undefined) ?? 5, mode, signal }) as IndexSearchOptions;
      const wanted = readText('search', 'query', query);
      const { index, left } = await folders.current();
      const hits = await index.search(wanted, options);
      return {
        ...(left !== undefined && { incomplete: left }),
        hits: hits.map(({ id, score, text: passage, start, end, headings, document }) =>
          given({
            id,
            title: document.title,
            score,
            start,
            end,
            headings: headings.length > 0 ? headings : undefined,
            text: passage,
          }),
        ),
      };
    },
  };
}

function embedTool(embed: () => Promise<FeatureExtractionPipeline>): Tool {
  return {
    description: 'Turns texts into embeddings; texts with the same meaning have embeddings with a high cosine similarity.',
    inputSchema: {
      type: 'object',
      properties: { texts: { type: 'array', items: { type: 'string' }, minItems: 1, maxItems: kMostTexts } },
      required: ['texts'],
      additionalProperties: false,
    },
    async run(args, signal) {
      const { texts } = readOptions('embed', args, { texts: 'any' }) as { texts: string[] };
      if (Array.isArray(texts) && texts.length > kMostTexts)
        throw new InputError(`embed: expected at most ${kMostTexts} texts, found ${texts.length}`);
      const out = await (await embed())(texts, { signal });
      return { embeddings: out.tolist(), truncated: out.truncated };
    },
  };
}

function redactTool(
  folders: Folders | undefined,
  ner: () => Promise<ZeroShotNerPipeline> | undefined,
  known: readonly string[],
): Tool {
  const ofModel = { labels: { type: 'array', items: { type: 'string' }, description: `Kinds of names to replace. Default: ${known.join(', ')}.` } }; // prettier-ignore
  return {
    description: `Replaces ${known.length > 0 ? 'names, ' : ''}email addresses, phone and card numbers with placeholders such as [EMAIL_1].`,
    inputSchema: {
      type: 'object',
      properties: {
        text: { type: 'string' },
        ...(folders && { id: { type: 'string', description: 'Instead of a text: the id of a document returned by search.' } }),
        ...(known.length > 0 && ofModel),
      },
      additionalProperties: false,
    },
    async run(args, signal) {
      const rules: Rules = { text: 'string', ...(folders && { id: 'string' }), ...(known.length > 0 && { labels: 'any' }) };
      const { text: own, id, labels } = readOptions('redact', args, rules) as { text?: string; id?: string; labels?: string[] };
      if ((own === undefined) === (id === undefined)) throw new InputError(`redact: expected one of text and id, found ${id === undefined ? 'none' : 'both'}`); // prettier-ignore
      const whole = id === undefined ? (own as string) : await (folders as Folders).textOf(id);
      const patterns = { email: true, phone: true, card: true };
      const finder = (await ner()) ?? null;
      const out = await redact(finder, whole, given({ patterns, signal, labels: finder ? (labels ?? known) : undefined }) as never);
      return { text: out.text, entities: out.entities.map(({ label, placeholder }) => ({ label, placeholder })) };
    },
  };
}

export async function mcp(values: Values, paths: string[]): Promise<void> {
  const wordsOnly = flag(values, 'words') ?? false;
  const settings = flag(values, 'http') ? listenSettings(values) : undefined;
  const alone = settings ? undefined : ['host', 'port', 'cors', 'allow-host', 'api-key'].find((name) => name in values);
  if (alone !== undefined) throw new InputError(`--${alone}: expected --http with it, found none`);
  const nerModel = text(values, 'ner');
  const labels = list(values, 'labels') ?? ['person', 'organization', 'location'];
  let embedding: Promise<FeatureExtractionPipeline> | undefined;
  let finding: Promise<ZeroShotNerPipeline> | undefined;
  const options = { ...computeOptions(values), worker: true };
  const embed = () => (embedding ??= pipeline('feature-extraction', modelOf(values), options));
  const ner = () => (nerModel === undefined ? undefined : (finding ??= pipeline('zero-shot-ner', nerModel, { worker: true })));
  const chunk = wordsOnly ? false : given({ max_tokens: count(values, 'max-tokens') });
  const folders =
    paths.length > 0 ? new Folders(paths, () => (wordsOnly ? undefined : embed()), chunk as IndexOptions['chunk']) : undefined;
  if (folders) await readDocuments(paths); // a folder that is not there is an error now
  const tools = {
    ...(folders && { search: searchTool(folders, paths) }),
    ...(!wordsOnly && { embed: embedTool(embed) }),
    redact: redactTool(folders, ner, nerModel === undefined ? [] : labels),
  };
  const { version } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')) as { version: string };
  const about = { version, instructions: 'wattn runs locally: no text leaves this machine.' };
  const log = (line: string) => void process.stderr.write(`wattn: ${line}\n`);
  const make = (send: (line: string) => void) => new McpServer(about, tools, send, log);
  folders?.current().catch(() => {}); // while the client reads what there is; an error is that of the first search
  await (settings ? overHttp(settings, make) : overLines(make));
  process.exit(0);
}

type Make = (send: (line: string) => void) => McpServer;

/** On /mcp, for clients that know its address. */
const overHttp = (settings: ServerSettings, make: Make) =>
  listen({
    settings,
    routes: { '/mcp': mcpRoute(() => make(() => {})) },
    metrics: new Metrics(),
    waiting: () => 0,
    about: { path: '/mcp' },
  });

/** Over standard input and output, for a client that started it. */
async function overLines(make: Make): Promise<void> {
  let written = Promise.resolve();
  const send = (line: string) => void (written = written.then(() => write(`${line}\n`)));
  const server = make(send);
  const taken = new Set<Promise<void>>();
  for await (const lines of linesOf(process.stdin as AsyncIterable<Uint8Array>, 'standard input')) {
    for (const line of lines) {
      const one = server.take(line).finally(() => taken.delete(one));
      taken.add(one);
    }
  }
  server.end(); // the client has left
  await Promise.all(taken);
  await written;
}
