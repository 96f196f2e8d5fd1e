// Vectors of texts that a person is editing: computed shortly after the last key, and only for texts not there yet.
// Keeping the others is exact, not an approximation: a text gives the same bits in any batch.
import type { EmbedOptions, FeatureExtractionPipeline } from 'wattn';
import { useEffect, useRef, useState } from 'preact/hooks';

const kDebounceMs = 150;
const kPaintMs = 20; // lets the page show that it is busy, before the first texts keep it so

/** One call of the library, as it was measured: tokenizing, the model, pooling. */
export interface Run {
  texts: number;
  /** Special tokens included. */
  tokens: number;
  ms: number;
  /** Texts whose vectors were there already. */
  kept: number;
}

interface Result {
  /** Text -> its vector. */
  vectors: ReadonlyMap<string, Float32Array>;
  /** The last call that computed anything. */
  run?: Run;
  error?: Error;
}

export interface EmbeddedTexts extends Result {
  busy: boolean;
  /** Forgets every vector and computes all anew. */
  again(): void;
}

/** embed and options must be the same objects from render to render. */
export function useEmbeddings(embed: FeatureExtractionPipeline, texts: readonly string[], options: EmbedOptions): EmbeddedTexts {
  const [result, setResult] = useState<Result>({ vectors: new Map() });
  const [busy, setBusy] = useState(true);
  const [round, setRound] = useState(0);
  const known = useRef<Result['vectors']>(result.vectors);

  useEffect(() => {
    const controller = new AbortController();
    const { signal } = controller;
    const compute = async () => {
      const all = [...new Set(texts)];
      const missing = all.filter((text) => !known.current.has(text));
      try {
        const added = await embedTexts(embed, missing, { ...options, signal });
        if (signal.aborted) return;
        known.current = new Map(all.map((text) => [text, (added.vectors.get(text) ?? known.current.get(text)) as Float32Array]));
        const run = added.run && { ...added.run, kept: all.length - missing.length };
        setResult((last) => ({ vectors: known.current, run: run ?? last.run }));
      } catch (error) {
        if (signal.aborted) return;
        setResult((last) => ({ ...last, error: error as Error }));
      }
      setBusy(false);
    };
    setBusy(true);
    const timer = setTimeout(compute, known.current.size === 0 ? kPaintMs : kDebounceMs);
    return () => {
      clearTimeout(timer);
      controller.abort();
    };
  }, [embed, options, JSON.stringify(texts), round]);

  const again = () => {
    known.current = new Map();
    setRound(round + 1);
  };
  return { ...result, busy, again };
}

async function embedTexts(embed: FeatureExtractionPipeline, texts: readonly string[], options: EmbedOptions) {
  if (texts.length === 0) return { vectors: new Map<string, Float32Array>() };
  const start = performance.now();
  const { data, dims, tokens } = await embed(texts, options);
  const ms = performance.now() - start;
  const dim = dims[1] as number;
  const vectors = new Map(texts.map((text, i) => [text, data.slice(i * dim, (i + 1) * dim)]));
  return { vectors, run: { texts: texts.length, tokens: tokens.reduce((sum, count) => sum + count, 0), ms } };
}
