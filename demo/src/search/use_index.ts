// The index of the search panel: the package's own, found again in the browser, or built with progress and a way to cancel.
import { Index, pipeline, type EmbedFunction, type EmbedOptions, type FeatureExtractionPipeline, type IndexOptions } from 'wattn';
import { useEffect, useRef, useState } from 'preact/hooks';
import type { PanelProps } from '../panel.js';
import { arrange } from './arrange.js';
import { fingerprintOf } from './fingerprint.js';
import { project } from './pca.js';
import { kCommon, kSearch } from './settings.js';
import type { Doc, Found, Hit, IndexFacts } from './types.js';

export interface BuildProgress {
  stage: 'embed' | 'arrange';
  /** Chunks with vectors. */
  chunks: number;
  /** The share of the texts that is done, 0 to 1; undefined: nothing is known yet. */
  share?: number;
  secondsLeft?: number;
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
  search(query: string): Promise<Found & { ms: number }>;
}

// The browser keeps two indexes for each model: one is searched, and the next is built in the other's place.
const kSlots = ['a', 'b'] as const;
type Slot = (typeof kSlots)[number];

/** The index that is searched. */
interface Current {
  index: Index;
  slot: Slot;
  facts: IndexFacts;
  /** [id, start] of a chunk, as text, to its number. */
  places: Map<string, number>;
}

interface Tools {
  embed: FeatureExtractionPipeline;
  options: EmbedOptions;
  fingerprint: string;
}

// Where this page kept its own index before it had the package's. Nobody reads it.
const kFormerDatabase = 'wattn-demo';

// Work that writes, of this panel and of one that was closed before: one after the other.
let writing: Promise<unknown> = Promise.resolve();

function inTurn<T>(run: () => Promise<T>): Promise<T> {
  const own = writing.then(run);
  writing = own.catch(() => {});
  return own;
}

async function openTools({ model, options }: PanelProps): Promise<Tools> {
  const embed = await pipeline('feature-extraction', model.source, { worker: true });
  return { embed, options, fingerprint: await fingerprintOf(embed, options) };
}

const nameOf = ({ fingerprint }: Tools, slot: Slot) => `wattn demo ${fingerprint} ${slot}`;

/** size: tokens of a chunk; needed where texts are added. */
function indexOptions({ embed, options }: Tools, size: number): IndexOptions {
  const words = { stopwords: kCommon };
  if (embed.info().pooled) return { embed, words, chunk: { max_tokens: size } };
  // Only this page knows how such a model pools.
  const encode: EmbedFunction = (texts, kind) => embed[`encode_${kind}`](texts, options);
  return {
    embed: encode,
    words,
    chunk: (text) => embed.tokenizer.chunk(text, { max_tokens: size }),
  };
}

const builtAt = (index: Index) => index.get('0')?.built as number | undefined;
/** Each document says how many there are: fewer are what is left of building that did not end. */
const isWhole = (index: Index) => index.size > 0 && index.size === index.get('0')?.of;

async function toCurrent(index: Index, slot: Slot, { embed, options }: Tools, signal: AbortSignal): Promise<Current> {
  const arranged = await arrange(index, embed, { ...options, signal });
  const facts: IndexFacts = { texts: index.size, built: builtAt(index) ?? 0, ...arranged };
  const places = new Map(arranged.pieces.map(({ id, start }, i) => [`${id} ${start}`, i]));
  return { index, slot, facts, places };
}

/** The newest whole index that the browser keeps. One that cannot be read is as if it were not there: building replaces it. */
async function restore(tools: Tools, signal: AbortSignal): Promise<Current | undefined> {
  let newest: { index: Index; slot: Slot } | undefined;
  for (const slot of kSlots) {
    const index = await Index.open(nameOf(tools, slot), indexOptions(tools, 1)).catch(() => undefined);
    if (!index) continue;
    const isBetter = isWhole(index) && (!newest || (builtAt(index) ?? 0) > (builtAt(newest.index) ?? 0));
    await (isBetter ? newest?.index : index)?.dispose();
    if (isBetter) newest = { index, slot };
  }
  if (!newest) return undefined;
  try {
    return await toCurrent(newest.index, newest.slot, tools, signal);
  } catch (error) {
    await newest.index.dispose();
    throw error;
  }
}

/** An empty index; in memory where the browser keeps nothing (a private window, for one). */
async function begin(tools: Tools, slot: Slot, size: number): Promise<{ index: Index; unkept?: string }> {
  const name = nameOf(tools, slot);
  const options = indexOptions(tools, size);
  try {
    await Index.delete(name);
    return { index: await Index.open(name, options) };
  } catch (error) {
    return { index: await Index.open(name, { ...options, store: 'memory' }), unkept: (error as Error).message };
  }
}

/** From texts to an index. show: told how far it is. */
async function buildIndex(
  tools: Tools,
  slot: Slot,
  docs: Doc[],
  size: number,
  signal: AbortSignal,
  show: (progress: BuildProgress) => void,
): Promise<Current> {
  const full = docs.filter(({ text }) => text.trim() !== '');
  if (full.length === 0) throw new Error('The texts are empty.');
  const { index, unkept } = await begin(tools, slot, size);
  try {
    const about = { built: Date.now(), of: full.length };
    const start = performance.now();
    let chunks = 0;
    for await (const progress of index.add(
      full.map((doc, i) => ({ id: String(i), ...doc, ...about })),
      { signal },
    )) {
      ({ chunks } = progress);
      const secondsLeft = progress.seconds_left;
      if (secondsLeft === undefined) continue;
      const seconds = (performance.now() - start) / 1000;
      show({ stage: 'embed', chunks, share: seconds / (seconds + secondsLeft), secondsLeft });
    }
    show({ stage: 'arrange', chunks });
    const current = await toCurrent(index, slot, tools, signal);
    return { ...current, facts: { ...current.facts, ...(unkept !== undefined && { unkept }) } };
  } catch (error) {
    await remove(tools, { index, slot });
    throw error;
  }
}

/** Closes an index and takes it out of the browser. */
async function remove(tools: Tools, { index, slot }: Pick<Current, 'index' | 'slot'>): Promise<void> {
  const isKept = index.info().store !== 'memory';
  await index.dispose();
  if (isKept) await Index.delete(nameOf(tools, slot)).catch(() => {}); // what is left of it is removed before the next is built
}

/** What stays of the state while another index is built, or building it was given up. */
const idle = ({ facts, restored, ms }: IndexState): IndexState => ({
  opening: false,
  restored,
  ...(facts && { facts }),
  ...(ms !== undefined && { ms }),
});

const kNone: IndexState = { opening: false, restored: false };

export function useIndex(props: PanelProps): IndexControl {
  const [state, setState] = useState<IndexState>({ opening: true, restored: false });
  const controller = useRef<AbortController | undefined>(undefined);
  const tools = useRef<Promise<Tools> | undefined>(undefined);
  const current = useRef<Current | undefined>(undefined);
  const ready = async () => (await tools.current) as Tools;
  const newSignal = () => (controller.current = new AbortController()).signal;

  const open = async () => {
    const signal = newSignal();
    try {
      globalThis.indexedDB?.deleteDatabase(kFormerDatabase);
    } catch {
      // A private window may have no databases.
    }
    try {
      const all = await (tools.current = openTools(props));
      await inTurn(async () => (current.current = await restore(all, signal)));
      const facts = current.current?.facts;
      if (!signal.aborted) setState(facts ? { opening: false, restored: true, facts } : kNone);
    } catch (error) {
      if (!signal.aborted) setState({ ...kNone, error: error as Error });
    }
  };

  useEffect(() => {
    void open();
    return () => {
      controller.current?.abort();
      const close = async () => {
        const { embed } = await ready();
        await current.current?.index.dispose();
        await embed.dispose();
      };
      ready().then(
        () => inTurn(close),
        () => {}, // it never opened
      );
    };
  }, []);

  const build = async (docs: Doc[], size: number) => {
    const signal = newSignal();
    const start = performance.now();
    const show = (building: BuildProgress) => !signal.aborted && setState((before) => ({ ...idle(before), building }));
    show({ stage: 'embed', chunks: 0 });
    try {
      const all = await ready();
      await inTurn(async () => {
        signal.throwIfAborted();
        const old = current.current;
        const next = await buildIndex(all, old?.slot === 'a' ? 'b' : 'a', docs, size, signal, show);
        if (signal.aborted) return remove(all, next);
        current.current = next;
        setState({ ...kNone, facts: next.facts, ms: performance.now() - start });
        if (old) await remove(all, old);
      });
    } catch (error) {
      if (!signal.aborted) setState((before) => ({ ...idle(before), error: error as Error }));
    }
  };

  const forget = async () => {
    const all = await ready();
    await inTurn(async () => {
      const old = current.current;
      current.current = undefined;
      if (old) await remove(all, old);
    });
  };

  return {
    ...state,
    build: (docs, size) => void build(docs, size),
    cancel: () => {
      controller.current?.abort();
      setState(idle);
    },
    forget: () => {
      setState(kNone);
      void forget();
    },
    async search(query) {
      const { embed, options } = await ready();
      if (!current.current) return { hits: [], at: [0, 0], built: 0, ms: 0 };
      const { index, facts, places } = current.current;
      const start = performance.now();
      const found = await index.search(query, kSearch);
      const ms = performance.now() - start;
      if (builtAt(index) !== facts.built)
        throw new Error('Another tab has replaced this index. Reload the page to search the new one.');
      const hits = found.map(({ id, start: from, score, close, why, highlights }): Hit => {
        return { piece: places.get(`${id} ${from}`) as number, score, close, why, highlights };
      });
      const { data } = await embed.encode_query(query, options);
      const [x = 0, y = 0] = project(data, data.length, facts.picture.plane);
      return { hits, at: [x, y], built: facts.built, ms };
    },
  };
}
