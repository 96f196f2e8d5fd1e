// The index of the search panel: found again in the browser's database, or built with progress and a way to cancel.
import { pipeline, type EmbedOptions, type FeatureExtractionPipeline } from 'wattn';
import { useEffect, useRef, useState } from 'preact/hooks';
import type { PanelProps } from '../panel.js';
import { fingerprintOf } from './fingerprint.js';
import { startIndexWorker, type IndexClient } from './index_client.js';
import type { BuildCalls, Doc, Found, Index, IndexFacts, Piece } from './protocol.js';

export interface BuildProgress {
  /** keep: no longer to be cancelled. */
  stage: 'cut' | 'embed' | 'arrange' | 'keep';
  done: number;
  total: number;
  /** Pieces a second, once there is something to count. */
  rate?: number;
}

export interface IndexState {
  /** Until it is known whether there is an index. */
  opening: boolean;
  building?: BuildProgress;
  facts?: IndexFacts;
  /** Whether it was found rather than built now. */
  restored: boolean;
  /** How long building took. */
  ms?: number;
  error?: Error;
}

export interface IndexControl extends IndexState {
  build(docs: Doc[], size: number): void;
  cancel(): void;
  forget(): void;
  search(query: string, count: number): Promise<Found & { ms: number }>;
}

const kBatch = 64; // pieces a call: what progress is told by

/** The worker of the model, the worker that searches, and whose index it is. */
interface Tools {
  embed: FeatureExtractionPipeline;
  client: IndexClient;
  fingerprint: string;
}

/** The worker that builds: started when it is first needed, and ended by cancelling, whatever it is doing. */
class Builder {
  private client: IndexClient | undefined;

  get calls(): BuildCalls {
    return (this.client ??= startIndexWorker());
  }

  end(): void {
    this.client?.end();
    this.client = undefined;
  }
}

async function openTools({ model, options }: PanelProps, client: IndexClient): Promise<Tools> {
  const embed = await pipeline('feature-extraction', model.source, { worker: true });
  return { embed, client, fingerprint: await fingerprintOf(embed, options) };
}

async function embedPieces(
  embed: FeatureExtractionPipeline,
  texts: readonly string[],
  options: EmbedOptions,
  report: (done: number) => void,
): Promise<Float32Array> {
  let vectors = new Float32Array();
  for (let at = 0; at < texts.length; at += kBatch) {
    const { data, dims } = await embed.encode_document(texts.slice(at, at + kBatch), options);
    const dim = dims[1] as number;
    if (at === 0) vectors = new Float32Array(texts.length * dim);
    vectors.set(data, at * dim);
    report(Math.min(at + kBatch, texts.length));
  }
  return vectors;
}

/** From texts to an index. show: told how far it is. */
async function buildIndex(
  embed: FeatureExtractionPipeline,
  builder: BuildCalls,
  { model, options }: PanelProps,
  docs: Doc[],
  size: number,
  signal: AbortSignal,
  show: (progress: BuildProgress) => void,
): Promise<Index> {
  const pieces: Piece[] = [];
  for (const [doc, { text }] of docs.entries()) {
    for (const piece of await builder.chunk(model.source, text, size)) pieces.push({ doc, ...piece });
    show({ stage: 'cut', done: doc + 1, total: docs.length });
  }
  if (pieces.length === 0) throw new Error('The texts are empty.');
  const texts = pieces.map(({ doc, start, end }) => (docs[doc] as Doc).text.slice(start, end));
  const begun = performance.now();
  const report = (done: number) =>
    show({ stage: 'embed', done, total: texts.length, rate: (1000 * done) / (performance.now() - begun) });
  report(0);
  const vectors = await embedPieces(embed, texts, { ...options, signal }, report);
  show({ stage: 'arrange', done: 0, total: 0 });
  const words = [...new Set((await builder.arrange({ docs, pieces, size }, vectors)).flat())];
  const wordVectors = await embedPieces(embed, words, { ...options, signal }, () => {});
  return { docs, pieces, size, vectors, ...(await builder.finish(words, wordVectors)) };
}

/** What stays of the state while another index is built, or building it was given up. */
const idle = ({ facts, restored, ms }: IndexState): IndexState => ({
  opening: false,
  restored,
  ...(facts && { facts }),
  ...(ms !== undefined && { ms }),
});

const kNone: IndexState = { opening: false, restored: false };

/** The workers, from when the panel is first shown to when it goes; and the index that was kept. */
function useTools(props: PanelProps, onState: (state: IndexState) => void) {
  const tools = useRef<Promise<Tools> | undefined>(undefined);
  useEffect(() => {
    let gone = false;
    const client = startIndexWorker();
    const opening = (tools.current = openTools(props, client));
    opening
      .then(async ({ fingerprint }) => {
        // Where the browser keeps nothing (a private window, for one) there is no index yet.
        const facts = await client.restore(fingerprint).catch(() => undefined);
        if (!gone) onState(facts ? { opening: false, restored: true, facts } : kNone);
      })
      .catch((error: Error) => !gone && onState({ ...kNone, error }));
    return () => {
      gone = true;
      client.end();
      void opening.then(({ embed }) => embed.dispose()).catch(() => {});
    };
  }, []);
  return async () => (await tools.current) as Tools;
}

export function useIndex(props: PanelProps): IndexControl {
  const [state, setState] = useState<IndexState>({ opening: true, restored: false });
  const controller = useRef<AbortController | undefined>(undefined);
  const [builder] = useState(() => new Builder());
  const tools = useTools(props, setState);
  const stop = () => {
    controller.current?.abort();
    builder.end();
  };
  useEffect(() => stop, []);

  const build = async (docs: Doc[], size: number) => {
    const { signal } = (controller.current = new AbortController());
    const start = performance.now();
    const show = (building: BuildProgress) => !signal.aborted && setState((before) => ({ ...idle(before), building }));
    show({ stage: 'cut', done: 0, total: docs.length });
    try {
      const { embed, client, fingerprint } = await tools();
      signal.throwIfAborted();
      const { vectors, plane, ...facts } = await buildIndex(embed, builder.calls, props, docs, size, signal, show);
      signal.throwIfAborted();
      show({ stage: 'keep', done: 0, total: 0 });
      const unkept = await client.keep(fingerprint, props.model.name, { ...facts, vectors, plane });
      setState({ ...kNone, facts: { ...facts, ...(unkept !== undefined && { unkept }) }, ms: performance.now() - start });
    } catch (error) {
      if (!signal.aborted) setState((before) => ({ ...idle(before), error: error as Error }));
    }
  };

  return {
    ...state,
    build: (docs, size) => void build(docs, size),
    cancel: () => {
      stop();
      setState(idle);
    },
    forget: () => {
      setState(kNone);
      void tools()
        .then(({ client, fingerprint }) => client.forget(fingerprint))
        .catch(() => {});
    },
    async search(query, count) {
      const { embed, client } = await tools();
      const start = performance.now();
      const { data } = await embed.encode_query(query, props.options);
      const found = await client.search(data, count);
      return { ...found, ms: performance.now() - start };
    },
  };
}
