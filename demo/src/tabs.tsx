// The panels: which there are, and the one that is shown. The address says which (#search), so each has a link of its own.
import './tabs.css';
import type { EmbedOptions } from 'wattn';
import type { FunctionComponent } from 'preact';
import { useEffect, useMemo, useState } from 'preact/hooks';
import { kOfPanel, titleOf } from './exercises/list.js';
import type { ModelControl, ReadyModel } from './model/use_model.js';
import type { PanelProps } from './panel.js';
import { StoryPanel } from './story/story.js';
import { readAddress, unpackAddress } from './ui/address.js';
import { showInAddress, takeAddress } from './ui/kept.js';
import { lazy } from './ui/lazy.js';

interface Tab {
  id: string;
  name: string;
  Panel: FunctionComponent<PanelProps>;
}

/** The first screen; it has something to show before there is a model. */
const kStory = { id: 'story' };

const kTabs: readonly Tab[] = [
  { id: 'whole', name: 'The whole model', Panel: lazy(async () => (await import('./whole/whole.js')).WholePanel) },
  { id: 'attention', name: 'Attention', Panel: lazy(async () => (await import('./attention/attention.js')).AttentionPanel) },
  { id: 'tokens', name: 'Tokens', Panel: lazy(async () => (await import('./tokens/tokens.js')).TokensPanel) },
  { id: 'positions', name: 'Positions', Panel: lazy(async () => (await import('./positions/positions.js')).PositionsPanel) },
  { id: 'about', name: 'The model', Panel: lazy(async () => (await import('./about/about.js')).AboutPanel) },
  { id: 'search', name: 'Search', Panel: lazy(async () => (await import('./search/search.js')).SearchPanel) },
  { id: 'map', name: 'Map', Panel: lazy(async () => (await import('./map/map.js')).MapPanel) },
  { id: 'compare', name: 'Compare sentences', Panel: lazy(async () => (await import('./compare/compare.js')).ComparePanel) },
  { id: 'words', name: 'Word vectors', Panel: lazy(async () => (await import('./words/words.js')).WordsPanel) },
  { id: 'teach', name: 'Your own labels', Panel: lazy(async () => (await import('./teach/teach.js')).TeachPanel) },
  { id: 'classify', name: 'Ready-made labels', Panel: lazy(async () => (await import('./classify/classify.js')).ClassifyPanel) },
  { id: 'write', name: 'Write', Panel: lazy(async () => (await import('./write/write.js')).WritePanel) },
  {
    id: 'exercises',
    name: 'Exercises',
    Panel: lazy(async () => (await import('./exercises/exercises_panel.js')).ExercisesPanel),
  },
  { id: 'lessons', name: 'Experiments', Panel: lazy(async () => (await import('./lessons/lessons_panel.js')).LessonsPanel) },
];

/** What a person can do here, each with its panels; the first is shown. */
const kPlaces: readonly { name: string; panels: readonly string[] }[] = [
  { name: 'Story', panels: ['story'] },
  { name: 'Whole model', panels: ['whole'] },
  { name: 'Inside', panels: ['attention', 'tokens', 'positions', 'about'] },
  { name: 'Meaning', panels: ['search', 'map', 'compare', 'words'] },
  { name: 'Labels', panels: ['teach', 'classify'] },
  { name: 'Write', panels: ['write'] },
  { name: 'Learn', panels: ['exercises', 'lessons'] },
];

const kIds = [kStory.id, ...kTabs.map(({ id }) => id)];

/** undefined: another anchor of the page. */
const tabOfAddress = () => kIds.find((id) => id === readAddress().panel);

/** Panels that were shown stay as they are, out of sight, until the model changes. */
export function Tabs({ model, load }: { model?: ReadyModel; load: ModelControl['load'] }) {
  const [active, setActive] = useState(() => tabOfAddress() ?? kStory.id);
  const [visited, setVisited] = useState<ReadonlySet<string>>(() => new Set([active]));
  const [arrivals, setArrivals] = useState<Readonly<Record<string, number>>>({}); // of addresses that say other than their panel shows
  useEffect(() => {
    const follow = async () => {
      await unpackAddress();
      const id = tabOfAddress();
      if (!id) return;
      setActive(id);
      setVisited((before) => new Set([...before, id]));
      if (takeAddress()) setArrivals((before) => ({ ...before, [id]: (before[id] ?? 0) + 1 }));
      showInAddress(id);
    };
    const onHash = () => void follow();
    addEventListener('hashchange', onHash);
    return () => removeEventListener('hashchange', onHash);
  }, []);
  // Where the repository does not say how to pool, this page takes the mean (and says so).
  const options = useMemo<EmbedOptions>(
    () => (model?.embed.info().pooled ? {} : { pooling: 'mean', normalize: true }),
    [model?.serial],
  );
  const place = kPlaces.find(({ panels }) => panels.includes(active));
  return (
    <>
      <nav class="tabs" aria-label="Sections">
        <ul>
          {kPlaces.map(({ name, panels }) => (
            <li key={name}>
              <a
                href={`#${panels[0]}`}
                aria-current={panels.includes(active) ? (panels[0] === active ? 'page' : 'true') : undefined}
              >
                {name}
              </a>
            </li>
          ))}
        </ul>
      </nav>
      {place && place.panels.length > 1 && (
        <nav class="tabs is-inner" aria-label={place.name}>
          <ul>
            {place.panels.map((id) => (
              <li key={id}>
                <a href={`#${id}`} aria-current={id === active ? 'page' : undefined}>
                  {kTabs.find((tab) => tab.id === id)?.name}
                </a>
              </li>
            ))}
          </ul>
        </nav>
      )}
      {visited.has(kStory.id) && (
        <div hidden={active !== kStory.id} data-panel={kStory.id}>
          <StoryPanel
            key={arrivals[kStory.id]}
            shown={active === kStory.id}
            options={options}
            load={load}
            {...(model && { model })}
          />
        </div>
      )}
      {kTabs.map(
        ({ id, Panel }) =>
          visited.has(id) && (
            <div key={`${id} ${model?.serial} ${arrivals[id]}`} hidden={id !== active} data-panel={id}>
              {model ? <Panel model={model} options={options} load={load} /> : <p class="hint loading-panel">Loading the model…</p>}
            </div>
          ),
      )}
      <ToExercise panel={active} />
    </>
  );
}

/** Each panel leads to the exercise that goes with it. */
function ToExercise({ panel }: { panel: string }) {
  const exercise = kOfPanel[panel];
  if (!exercise) return null;
  return (
    <p class="hint to-exercise">
      <a href={`#exercises?at=${exercise}`}>Exercise: {titleOf(exercise)}</a>
    </p>
  );
}
