// Panel: the sentences, ranked by how near they are to a query.
import './nearest.css';
import { semantic_search, type EmbedOptions, type FeatureExtractionPipeline, type ModelSpecifier } from 'wattn';
import { useMemo } from 'preact/hooks';
import { CodeOf } from '../ui/copy.js';
import { useKept } from '../ui/kept.js';
import { nearestCode } from './compare_code.js';
import type { Entry } from './sentence.js';
import { formatScore, formatTime } from '../ui/format.js';
import { useEmbeddings } from './use_embeddings.js';

interface PanelProps {
  embed: FeatureExtractionPipeline;
  source: ModelSpecifier | null;
  entries: readonly Entry[];
  options: EmbedOptions;
}

interface Hit extends Entry {
  score: number;
}

export function NearestPanel({ embed, source, entries, options }: PanelProps) {
  const [query, setQuery] = useKept('compare.query', () => 'a pet taking a nap');
  const prompt = embed.info().prompts.query;
  // As sentence-transformers does: a model that has a prompt for queries gets it.
  const queryOptions = useMemo(() => (prompt ? { ...options, prompt_name: 'query' } : options), [options, prompt]);
  const asked = query.trim() === '' ? [] : [query];
  const { vectors, run, error } = useEmbeddings(embed, asked, queryOptions);
  const isBusy = !error && !asked.every((text) => vectors.has(text));
  // While a changed query is on its way, the answer to the one before stays.
  const hits = useMemo(() => rank([...vectors.values()][0], entries), [vectors, entries]);
  return (
    <article class="panel" aria-labelledby="nearest-title">
      <h2 id="nearest-title">Nearest</h2>
      <label for="query">Rank the sentences by similarity to</label>
      <input
        id="query"
        type="search"
        value={query}
        placeholder="any text; you do not need the exact words"
        autocomplete="off"
        onInput={(event) => setQuery(event.currentTarget.value)}
      />
      {error && (
        <p class="error" role="alert">
          {error.message}
        </p>
      )}
      <ol class="hits" aria-label="Sentences, nearest first" aria-busy={isBusy}>
        {hits.map(({ index, text, score }) => (
          <li key={index}>
            <span class="number" aria-hidden="true">
              {index + 1}
            </span>
            <span class="hit-text">{text}</span>
            <span class="hit-score">
              <span class="bar" style={{ '--share': `${Math.round(Math.max(0, score) * 100)}%` }} aria-hidden="true" />
              {formatScore(score)}
            </span>
          </li>
        ))}
      </ol>
      <p class="timing" role="status">
        {asked.length === 0 ? 'Type something to search for.' : best(hits, run?.ms)}
      </p>
      {prompt && <p class="hint">The query uses the model's own query prompt: “{prompt}”.</p>}
      {hits.length > 0 && (
        <CodeOf
          code={nearestCode(
            source,
            entries.map(({ text }) => text),
            options,
            query,
            queryOptions,
          )}
        />
      )}
    </article>
  );
}

function best(hits: readonly Hit[], ms: number | undefined): string {
  const [first] = hits;
  if (!first || ms === undefined) return '';
  return `Nearest: sentence ${first.index + 1}. The query took ${formatTime(ms)}.`;
}

/** Nearest first. */
function rank(query: Float32Array | undefined, entries: readonly Entry[]): Hit[] {
  if (!query || entries.length === 0) return [];
  const [hits = []] = semantic_search(
    [query],
    entries.map(({ vector }) => vector),
    { top_k: entries.length },
  );
  return hits.map(({ corpus_id, score }) => ({ ...(entries[corpus_id] as Entry), score }));
}
