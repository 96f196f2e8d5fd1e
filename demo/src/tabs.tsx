// The panels: which there are, and the one that is shown. The address says which (#search), so each has a link of its own.
import './tabs.css';
import type { FunctionComponent } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { ComparePanel } from './compare/compare.js';
import type { PanelProps } from './panel.js';
import { lazy } from './ui/lazy.js';

interface Tab {
  id: string;
  name: string;
  Panel: FunctionComponent<PanelProps>;
}

const kTabs: readonly [Tab, ...Tab[]] = [
  { id: 'compare', name: 'Compare', Panel: ComparePanel },
  { id: 'search', name: 'Search', Panel: lazy(async () => (await import('./search/search.js')).SearchPanel) },
  { id: 'classify', name: 'Classify', Panel: lazy(async () => (await import('./classify/classify.js')).ClassifyPanel) },
  { id: 'attention', name: 'Attention', Panel: lazy(async () => (await import('./attention/attention.js')).AttentionPanel) },
  { id: 'positions', name: 'Positions', Panel: lazy(async () => (await import('./positions/positions.js')).PositionsPanel) },
  { id: 'tokens', name: 'Tokens', Panel: lazy(async () => (await import('./tokens/tokens.js')).TokensPanel) },
  { id: 'about', name: 'Model', Panel: lazy(async () => (await import('./about/about.js')).AboutPanel) },
];

const tabOfAddress = () => kTabs.find(({ id }) => location.hash === `#${id}`)?.id;

/** Panels that were shown stay as they are, out of sight, until the model changes. */
export function Tabs(props: PanelProps) {
  const [active, setActive] = useState(() => tabOfAddress() ?? kTabs[0].id);
  const [visited, setVisited] = useState<ReadonlySet<string>>(() => new Set([active]));
  useEffect(() => {
    const follow = () => {
      const id = tabOfAddress();
      if (!id) return; // another anchor of the page
      setActive(id);
      setVisited((before) => new Set([...before, id]));
    };
    addEventListener('hashchange', follow);
    return () => removeEventListener('hashchange', follow);
  }, []);
  useEffect(() => {
    const link = document.querySelector('.tabs [aria-current]');
    link?.scrollIntoView({ block: 'nearest', inline: 'center' });
  }, [active]);
  return (
    <>
      <nav class="tabs" aria-label="Panels">
        <ul>
          {kTabs.map(({ id, name }) => (
            <li key={id}>
              <a href={`#${id}`} aria-current={id === active ? 'page' : undefined}>
                {name}
              </a>
            </li>
          ))}
        </ul>
      </nav>
      {kTabs.map(
        ({ id, Panel }) =>
          visited.has(id) && (
            <div key={id} hidden={id !== active} data-panel={id}>
              <Panel {...props} />
            </div>
          ),
      )}
    </>
  );
}
