// The page's shell: what is above and below the panels, and which of them are there.
import { useEffect } from 'preact/hooks';
import { HostDialog } from './model/host_dialog.js';
import { ModelButton } from './model/model_button.js';
import { useModel, type ModelState, type ReadyModel } from './model/use_model.js';
import { keepForOffline } from './offline.js';
import { Tabs } from './tabs.js';
import { isCut } from './ui/address.js';
import { CopyButton } from './ui/copy.js';
import { ThemeButton } from './ui/theme.js';

export function App() {
  const control = useModel();
  const { state } = control;
  useEffect(() => {
    if (state.ready) keepForOffline();
  }, [state.ready]);
  return (
    <>
      <a class="skip" href="#main">
        Skip to the content
      </a>
      <header class="container page-head">
        <h1>
          <a href="#story">
            <svg viewBox="0 0 32 32" aria-hidden="true">
              <rect width="32" height="32" rx="7" />
              <path d="M18 3 7 18h7l-2 11L25 13h-8z" />
            </svg>
            wattn
          </a>
        </h1>
        <div class="page-tools">
          <ModelButton control={control} />
          <CopyButton
            label="Copy link"
            text={() => location.href}
            title="A link to this panel, with your text and the model"
            copied={() => (isCut() ? 'Copied, but the text is too long for a link' : 'Copied')}
          />
          <ThemeButton />
        </div>
      </header>
      <main id="main" class="container">
        <Tabs load={control.load} {...(state.ready && { model: state.ready })} />
      </main>
      <Footer ready={state.ready} />
      <HostDialog control={control} />
      <p class="visually-hidden" role="status">
        {announce(state)}
      </p>
    </>
  );
}

/** What a screen reader is told; progress by quarters only. */
function announce({ ready, loading, cancelled }: ModelState): string {
  if (loading) {
    const quarter = Math.floor((loading.progress?.progress ?? 0) / 25) * 25;
    return quarter === 0 ? `Loading: ${loading.name}.` : `Loaded ${quarter} %.`;
  }
  if (cancelled) return 'Loading was cancelled.';
  return ready ? `Ready: ${ready.name}.` : '';
}

function Footer({ ready }: { ready: ReadyModel | undefined }) {
  const info = ready?.embed.info();
  const links = Object.entries(__WATTN_LINKS__);
  return (
    <footer class="container page-foot">
      <p>
        <strong>Your text stays here.</strong> Tokens, vectors and search are computed by WebAssembly in this page; nothing is sent
        to a server.
      </p>
      <p>
        <a href="./proof.html">Proof in your browser</a>
        {links.map(([name, address]) => (
          <span key={name}>
            {' '}
            · <a href={address}>{name}</a>
          </span>
        ))}
      </p>
      <p>
        wattn {__WATTN_VERSION__}
        {info && ` · ${info.wasm === 'given' ? 'wasm' : `wattn-${info.wasm}.wasm`} · build ${info.build_id}`} · Apache-2.0
      </p>
    </footer>
  );
}
