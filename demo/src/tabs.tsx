// The panels: which there are, and the one that is shown. The address says which (#search), so each has a link of its own.
import './tabs.css';
import type { EmbedOptions } from 'wattn';
import type { FunctionComponent } from 'preact';
import { useEffect, useMemo, useState } from 'preact/hooks';
import type { ReadyModel } from './model/use_model.js';
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
const kStory = { id: 'story', name: 'Story' };

const kTabs: readonly Tab[] = [
  { id: 'compare', name: 'Compare', Panel: lazy(async () => (await import('./compare/compare.js')).ComparePanel) },
  { id: 'search', name: 'Search', Panel: lazy(async () => (await import('./search/search.js')).SearchPanel) },
  { id: 'teach', name: 'Teach', Panel: lazy(async () => (await import('./teach/teach.js')).TeachPanel) },
  { id: 'classify', name: 'Classify', Panel: lazy(async () => (await import('./classify/classify.js')).ClassifyPanel) },
  { id: 'attention', name: 'Attention', Panel: lazy(async () => (await import('./attention/attention.js')).AttentionPanel) },
  { id: 'positions', name: 'Positions', Panel: lazy(async () => (await import('./positions/positions.js')).PositionsPanel) },
  { id: 'tokens', name: 'Tokens', Panel: lazy(async () => (await import('./tokens/tokens.js')).TokensPanel) },
  { id: 'write', name: 'Write', Panel: lazy(async () => (await import('./write/write.js')).WritePanel) },
  { id: 'words', name: 'Words', Panel: lazy(async () => (await import('./words/words.js')).WordsPanel) },
  { id: 'lessons', name: 'Lessons', Panel: lazy(async () => (await import('./lessons/lessons_panel.js')).LessonsPanel) },
  { id: 'about', name: 'Model', Panel: lazy(async () => (await import('./about/about.js')).AboutPanel) },
];

const kIds = [kStory.id, ...kTabs.map(({ id }) => id)];

/** undefined: another anchor of the page. */
const tabOfAddress = () => kIds.find((id) => id === readAddress().panel);

/** Panels that were shown stay as they are, out of sight, until the model changes. */
export function Tabs({ model }: { model?: ReadyModel }) {
  const [active, setActive] = useState(() => tabOfAddress() ?? kStory.id);
  const [visited, setVisited] = useState<ReadonlySet<string>>(() => new Set([active]));
  const [arrivals, setArrivals] = useState(0); // of addresses that say other than the panels show
  useEffect(() => {
    const follow = async () => {
      await unpackAddress();
      const id = tabOfAddress();
      if (!id) return;
      setActive(id);
      setVisited((before) => new Set([...before, id]));
      if (takeAddress()) setArrivals((before) => before + 1);
      showInAddress(id);
    };
    const onHash = () => void follow();
    addEventListener('hashchange', onHash);
    return () => removeEventListener('hashchange', onHash);
  }, []);
  useEffect(() => {
    const link = document.querySelector('.tabs [aria-current]');
    link?.scrollIntoView({ block: 'nearest', inline: 'center' });
  }, [active]);
  // Where the repository does not say how to pool, this page takes the mean (and says so).
  const options = useMemo<EmbedOptions>(
    () => (model?.embed.info().pooled ? {} : { pooling: 'mean', normalize: true }),
    [model?.serial],
  );
  const key = `${model?.serial} ${arrivals}`;
  return (
    <>
      <nav class="tabs" aria-label="Panels">
        <ul>
          {[kStory, ...kTabs].map(({ id, name }) => (
            <li key={id}>
              <a href={`#${id}`} aria-current={id === active ? 'page' : undefined}>
                {name}
              </a>
            </li>
          ))}
        </ul>
      </nav>
      {visited.has(kStory.id) && (
        <div hidden={active !== kStory.id} data-panel={kStory.id}>
          <StoryPanel key={arrivals} shown={active === kStory.id} options={options} {...(model && { model })} />
        </div>
      )}
      {kTabs.map(
        ({ id, Panel }) =>
          visited.has(id) && (
            <div key={`${id} ${key}`} hidden={id !== active} data-panel={id}>
              {model ? <Panel model={model} options={options} /> : <p class="hint loading-panel">Loading the model…</p>}
            </div>
          ),
      )}
    </>
  );
}
