// The page's shell: what is above and below the panels, and which of them are there.
import { useMemo, useRef, useState } from 'preact/hooks';
import { ModelPanel } from './model/model_panel.js';
import { useModel, type ModelState, type ReadyModel } from './model/use_model.js';
import { AttentionPanel } from './panels/attention.js';
import { SearchPanel } from './panels/search.js';
import { SentencesPanel } from './panels/sentences.js';
import { SentimentPanel } from './panels/sentiment.js';
import { SimilarityPanel } from './panels/similarity.js';
import { Preview } from './preview.js';
import { exampleSentences, isEmpty, type Entry, type Sentence } from './sentences.js';
import { ThemeButton } from './ui/theme.js';
import { useEmbeddings } from './use_embeddings.js';

export function App() {
  const control = useModel();
  const { state } = control;
  const [sentences, setSentences] = useState(exampleSentences);
  return (
    <>
      <a class="skip" href="#main">
        Skip to the content
      </a>
      <Header />
      <main id="main" class="container">
        <ModelPanel control={control} />
        {state.kind === 'ready' ? (
          <Workbench key={state.serial} model={state} sentences={sentences} onChange={setSentences} />
        ) : (
          <Preview />
        )}
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
        <p>Small transformers from the original checkpoint, computed in this page: see inside them.</p>
      </div>
      <ThemeButton />
    </header>
  );
}

/** What a screen reader is told; progress by quarters only. */
function announce(state: ModelState): string {
  if (state.kind === 'ready') return `The model ${state.name} is ready.`;
  if (state.kind === 'none') return state.cancelled ? 'Loading was cancelled.' : '';
  const quarter = Math.floor((state.progress?.progress ?? 0) / 25) * 25;
  return quarter === 0 ? `Loading the model ${state.name}.` : `Loaded ${quarter} %.`;
}

interface WorkbenchProps {
  model: ReadyModel;
  sentences: Sentence[];
  onChange: (sentences: Sentence[]) => void;
}

/** The panels that need a model. */
function Workbench({ model, sentences, onChange }: WorkbenchProps) {
  const { embed } = model;
  const [pair, setPair] = useState<readonly number[]>([]);
  // Where the repository does not say how to pool, this page takes the mean (and says so).
  const options = useMemo(() => (embed.info().pooled ? {} : ({ pooling: 'mean', normalize: true } as const)), [embed]);
  const texts = sentences.filter((sentence) => !isEmpty(sentence)).map(({ text }) => text);
  const embedded = useEmbeddings(embed, texts, options);
  const entries = useEntries(sentences, embedded.vectors);
  return (
    <div class="workbench">
      <SentencesPanel embed={embed} sentences={sentences} onChange={onChange} marked={pair} />
      <div class="side">
        <SimilarityPanel entries={entries} embedded={embedded} pair={pair} onPair={setPair} assumed={options.pooling} />
        <SearchPanel embed={embed} entries={entries} options={options} />
        <SentimentPanel source={model.source} />
      </div>
      <AttentionPanel source={model.source} />
    </div>
  );
}

/** Sentences with their vectors. One that is being edited keeps the vector it had until the new one is there. */
function useEntries(sentences: readonly Sentence[], vectors: ReadonlyMap<string, Float32Array>): Entry[] {
  const last = useRef(new Map<number, Float32Array>());
  return useMemo(() => {
    const entries = sentences.flatMap((sentence, index) => {
      const { id, text } = sentence;
      const vector = vectors.get(text) ?? last.current.get(id);
      return vector && !isEmpty(sentence) ? [{ id, index, text, vector }] : [];
    });
    last.current = new Map(entries.map(({ id, vector }) => [id, vector]));
    return entries;
  }, [sentences, vectors]);
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
