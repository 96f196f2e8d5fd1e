// Search on the map: by words that the texts contain, or by the meaning that the model gives them.
import { useEffect, useState } from 'preact/hooks';
import { Choice } from '../ui/choice.js';
import { oneOf, useKept } from '../ui/kept.js';
import { Problem } from '../ui/lazy.js';
import type { Marked } from './chosen.js';
import { byWords } from './rows.js';
import type { MapControl, MapData } from './use_map.js';

type By = 'words' | 'meaning';

const kTypingMs = 120;
const kMeant = 20; // texts that a search by meaning marks

interface FindProps {
  map: MapControl;
  data: MapData;
  onMarked: (marked: Marked | undefined) => void;
}

export function Find({ map, data, onMarked }: FindProps) {
  const [query, setQuery] = useKept('map.query', () => '');
  const [by, setBy] = useKept<By>('map.by', () => 'meaning', oneOf(['meaning', 'words']));
  const [error, setError] = useState<Error>();
  useEffect(() => {
    setError(undefined);
    const asked = query.trim();
    if (asked === '') return;
    let stale = false;
    const ask = async () => {
      if (by === 'words') return onMarked({ rows: byWords(data.rows, asked), how: `with “${asked}”` });
      const found = await map.search(asked, kMeant);
      if (stale) return;
      onMarked({ rows: found.map(({ row }) => row), scores: found.map(({ score }) => score), how: `nearest to “${asked}”` });
    };
    const timer = setTimeout(() => void ask().catch((reason: Error) => !stale && setError(reason)), kTypingMs);
    return () => {
      stale = true;
      clearTimeout(timer);
    };
  }, [query, by, data]);
  const onInput = (text: string) => {
    setQuery(text);
    if (text.trim() === '') onMarked(undefined);
  };
  return (
    <>
      <label for="map-query">Find texts by their meaning or their words</label>
      <div class="map-find">
        <input
          id="map-query"
          type="search"
          value={query}
          autocomplete="off"
          onInput={(event) => onInput(event.currentTarget.value)}
        />
        <Choice
          label="Search by"
          value={by}
          options={[
            ['meaning', 'Meaning'],
            ['words', 'Words'],
          ]}
          onChange={setBy}
        />
      </div>
      {error && <Problem error={error} />}
    </>
  );
}
