// The page's shell: what is above and below the panels, and which of them are there.
import type { EmbedOptions } from 'wattn';
import { useEffect, useMemo } from 'preact/hooks';
import { ModelPanel } from './model/model_panel.js';
import { useModel, type ModelState, type ReadyModel } from './model/use_model.js';
import { keepForOffline } from './offline.js';
import { Preview } from './preview.js';
import { Tabs } from './tabs.js';
import { ThemeButton } from './ui/theme.js';

export function App() {
  const control = useModel();
  const { state } = control;
  useEffect(() => {
    if (state.kind === 'ready') keepForOffline();
  }, [state.kind]);
  return (
    <>
      <a class="skip" href="#main">
        Skip to the content
      </a>
      <Header />
      <main id="main" class="container">
        <ModelPanel control={control} />
        {state.kind === 'ready' ? <Workbench key={state.serial} model={state} /> : <Preview />}
      </main>
      <Footer state={state} />
      <p class="visually-hidden" role="status">
        {announce(state)}
      </p>
    </>
  );
}

function Header() {
  return (
    <header class="container page-head">
      <div>
        <h1>
          <svg viewBox="0 0 32 32" aria-hidden="true">
            <rect width="32" height="32" rx="7" />
            <path d="M18 3 7 18h7l-2 11L25 13h-8z" />
          </svg>
          wattn
        </h1>
        <p>Run small transformers from their original checkpoints in this page, and look inside them.</p>
      </div>
      <ThemeButton />
    </header>
  );
}

/** What a screen reader is told; progress by quarters only. */
function announce(state: ModelState): string {
  if (state.kind === 'ready') return `Ready: ${state.name}.`;
  if (state.kind === 'none') return state.cancelled ? 'Loading was cancelled.' : '';
  const quarter = Math.floor((state.progress?.progress ?? 0) / 25) * 25;
  return quarter === 0 ? `Loading: ${state.name}.` : `Loaded ${quarter} %.`;
}

/** The panels, which need a model. */
function Workbench({ model }: { model: ReadyModel }) {
  // Where the repository does not say how to pool, this page takes the mean (and says so).
  const options = useMemo<EmbedOptions>(
    () => (model.embed.info().pooled ? {} : { pooling: 'mean', normalize: true }),
    [model.serial],
  );
  return <Tabs model={model} options={options} />;
}

function Footer({ state }: { state: ModelState }) {
  const info = state.kind === 'ready' ? state.embed.info() : undefined;
  return (
    <footer class="container page-foot">
      <p>
        <strong>Your text stays here.</strong> Tokens, vectors and search are computed by WebAssembly in this page; nothing is sent
        to a server.
      </p>
      <p>
        wattn {__WATTN_VERSION__}
        {info && ` · ${info.wasm === 'given' ? 'wasm' : `wattn-${info.wasm}.wasm`} · build ${info.build_id}`} · Apache-2.0
      </p>
    </footer>
  );
}
