// Panel: search by words and meaning in texts of one's own, and how their pieces lie to each other.
import '../ui/clusters.css';
import './search.css';
import type { EmbedOptions, ModelSpecifier } from 'wattn';
import { useEffect, useRef, useState } from 'preact/hooks';
import type { PanelProps } from '../panel.js';
import { CodeOf } from '../ui/copy.js';
import { formatTime, plural, shorten } from '../ui/format.js';
import { useKept } from '../ui/kept.js';
import { Problem } from '../ui/lazy.js';
import { Pictures } from '../ui/pictures.js';
import { exampleDocs } from './example.js';
import { Hits } from './hits.js';
import { Library, useFirstDocs } from './library.js';
import { PieceMap } from './piece_map.js';
import { searchCode } from './search_code.js';
import type { Found, Hit, IndexFacts } from './types.js';
import { useIndex, type IndexControl } from './use_index.js';

const kTypingMs = 80;

export function SearchPanel(props: PanelProps) {
  const index = useIndex(props);
  const { facts } = index;
  const begun = useRef(false);
  const docs = useFirstDocs();
  useEffect(() => {
    if (index.opening || begun.current) return;
    begun.current = true;
    if (!facts && !index.error) index.build(docs.length > 0 ? docs : exampleDocs, 32);
  }, [index.opening]);
  const [selected, setSelected] = useState<number>();
  const [hovered, setHovered] = useState<number>();
  useEffect(() => {
    setSelected(undefined);
    setHovered(undefined);
  }, [facts]);
  return (
    <div class="search-bench">
      <Library index={index} maxLength={props.model.embed.info().max_length} />
      {facts ? (
        <Results
          index={index}
          facts={facts}
          source={props.model.source}
          options={props.options}
          selected={selected}
          onSelect={setSelected}
          hovered={hovered}
          onHover={setHovered}
          prompt={props.model.embed.info().prompts.query}
        />
      ) : (
        <article class="panel" aria-labelledby="find-title">
          <h2 id="find-title">Find</h2>
          <p class="hint">{index.opening ? 'Starting the model in a worker…' : 'Build an index first, then search as you type.'}</p>
        </article>
      )}
    </div>
  );
}

interface ResultsProps {
  index: IndexControl;
  facts: IndexFacts;
  source: ModelSpecifier | null;
  options: EmbedOptions;
  selected: number | undefined;
  onSelect: (piece: number | undefined) => void;
  hovered: number | undefined;
  onHover: (piece: number | undefined) => void;
  prompt: string | undefined;
}

interface Answer extends Partial<Found> {
  hits: Hit[];
  /** What was asked. */
  query: string;
  ms?: number;
  error?: Error;
}

/** The pieces that fit best to what is being typed. The answer before stays until the next is there, but not over a change of the index. */
function useFound(index: IndexControl, facts: IndexFacts, query: string): Answer & { busy: boolean } {
  const [answer, setAnswer] = useState<Answer>({ hits: [], query: '' });
  useEffect(() => {
    if (query.trim() === '') return setAnswer({ hits: [], query, built: facts.built });
    let stale = false;
    const ask = async () => {
      const found = await index.search(query).catch((error: Error) => ({ hits: [], built: facts.built, error }));
      if (!stale) setAnswer({ ...found, query });
    };
    const timer = setTimeout(ask, kTypingMs);
    return () => {
      stale = true;
      clearTimeout(timer);
    };
  }, [query, facts]);
  const isOfIndex = answer.built === facts.built;
  return { ...(isOfIndex ? answer : { hits: [], query }), busy: !isOfIndex || answer.query !== query };
}

/** Hits that are not close may be right all the same: they say it in other words. */
function closenessOf(hits: readonly Hit[]): string {
  if (hits.length === 0) return 'No close match. ';
  return hits.some(({ close }) => close) ? '' : 'None of these is a certain match. ';
}

function Results({ index, facts, source, options, selected, onSelect, hovered, onHover, prompt }: ResultsProps) {
  const [query, setQuery] = useKept('search.query', () => 'tips for a good night of sleep');
  const found = useFound(index, facts, query);
  const [first, second] = facts.picture.plane.shares;
  return (
    <>
      <article class="panel find" aria-labelledby="find-title">
        <h2 id="find-title">Find</h2>
        <label for="find">Ask a question. You do not need the exact words.</label>
        <input id="find" type="search" value={query} autocomplete="off" onInput={(event) => setQuery(event.currentTarget.value)} />
        {found.error && <Problem error={found.error} />}
        <Hits
          facts={facts}
          hits={found.hits}
          busy={found.busy}
          marked={hovered ?? selected}
          onHover={onHover}
          onSelect={onSelect}
        />
        <p class="timing" role="status">
          {found.ms !== undefined && query.trim() !== '' && closenessOf(found.hits)}
          {query.trim() === '' && 'Type something to search for.'}
          {found.ms !== undefined &&
            `Searched ${plural(facts.pieces.length, 'chunk')} in ${formatTime(found.ms)}, including embedding the query.`}
        </p>
        {prompt && <p class="hint">The query uses the model's own query prompt: “{prompt}”.</p>}
        <CodeOf code={searchCode(source, facts, query, options)} />
      </article>
      <article class="panel map-panel" aria-labelledby="map-title">
        <h2 id="map-title">Map</h2>
        <p class="hint">
          A 2-D map (PCA) of your {plural(facts.pieces.length, 'chunk')}. It preserves {Math.round(100 * (first + second))} % of the
          variance, so distances are only a rough guide. Point at a chunk, or use the arrow keys.
        </p>
        <PieceMap
          facts={facts}
          hits={found.hits}
          query={found.at}
          selected={selected}
          onSelect={onSelect}
          hovered={hovered}
          onHover={onHover}
        />
        <Pictures name="map" title={found.at ? `Nearest to “${shorten(query, 60)}”` : 'A map of texts'} />
      </article>
    </>
  );
}
