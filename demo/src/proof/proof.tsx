// The page /proof: what wattn claims, measured in the visitor's own browser.
import './proof.css';
import { useState } from 'preact/hooks';
import { Problem } from '../ui/lazy.js';
import { ThemeButton } from '../ui/theme.js';
import { ChooseModel } from './choose_model.js';
import { BitsCard, CopyCard, SpeedCard, StartCard } from './results.js';
import { kHighSpread, summaryOf } from './table.js';
import { rivalHere, kSentences, servedHere, useProof, type Chosen, type Proof } from './use_proof.js';

export function ProofPage() {
  const { proof, start, stop } = useProof();
  const [chosen, setChosen] = useState<Chosen>(() => servedHere() ?? { name: 'the bundled model', model: null });
  const running = proof.kind === 'running';
  return (
    <>
      <a class="skip" href="#main">
        Skip to the content
      </a>
      <header class="container page-head">
        <h1>
          <a href="./">
            <svg viewBox="0 0 32 32" aria-hidden="true">
              <rect width="32" height="32" rx="7" />
              <path d="M18 3 7 18h7l-2 11L25 13h-8z" />
            </svg>
            wattn
          </a>
        </h1>
        <div class="page-tools">
          <ThemeButton />
        </div>
      </header>
      <main id="main" class="container proof">
        <article class="panel" aria-labelledby="run-title">
          <h2 id="run-title">Proof</h2>
          <p>Check wattn's claims in your own browser, on your own machine. Nothing is sent to a server.</p>
          <ChooseModel chosen={chosen} onChoose={setChosen} disabled={running} />
          <p class="proof-run">
            {running ? (
              <button type="button" class="secondary" onClick={stop}>
                Stop
              </button>
            ) : (
              <button type="button" onClick={() => void start(chosen)}>
                {proof.kind === 'idle' ? 'Start' : 'Measure again'}
              </button>
            )}
            <span class="hint">{statusOf(proof)}</span>
          </p>
          {running && (
            <progress
              aria-label="Measuring"
              value={proof.progress?.done ?? 0}
              max={proof.progress?.of ?? 1}
              class="proof-progress"
            />
          )}
          {proof.kind === 'done' && <p class="proof-summary">{summaryOf(proof.rows)}</p>}
          {proof.error && <Problem error={proof.error} />}
          <p class="visually-hidden" role="status">
            {proof.kind === 'running' ? 'Measuring.' : proof.kind === 'done' ? 'Done. The results follow.' : ''}
          </p>
        </article>
        <Notes proof={proof} />
        <div class="proof-column">
          <BitsCard proof={proof} />
          <StartCard proof={proof} />
        </div>
        <SpeedCard proof={proof} rival={rivalHere() !== undefined} />
        {proof.rows.some(({ textsPerSecond }) => textsPerSecond) && <CopyCard proof={proof} notes={notesOf(proof)} />}
        <How />
      </main>
    </>
  );
}

function statusOf({ kind, progress }: Proof): string {
  if (kind === 'running') return `${progress?.what ?? 'Starting'}…`;
  if (kind === 'stopped') return 'Stopped. The results so far are below.';
  if (kind === 'done') return 'Done.';
  return 'Takes about half a minute on a laptop. Keep this page in the foreground while it runs.';
}

/** What a reader must know of these measurements. */
function notesOf({ rows, notes, environment }: Proof): string[] {
  const restless = rows.filter(({ spread = 0 }) => spread > kHighSpread);
  return [
    ...notes,
    ...(restless.length > 0
      ? [`Rounds differ by more than ${100 * kHighSpread} % (${restless.map(({ name }) => name).join(', ')}): something else is keeping the machine busy.`] // prettier-ignore
      : []),
    ...(environment.isolated ? [] : ['One thread: the server does not send the headers that shared memory needs.']),
  ];
}

function Notes({ proof }: { proof: Proof }) {
  const notes = proof.kind === 'idle' ? [] : notesOf(proof);
  if (notes.length === 0) return null;
  return (
    <article class="panel proof-notes" aria-labelledby="notes-title">
      <h2 id="notes-title">What affects these numbers</h2>
      <ul>
        {notes.map((note) => (
          <li key={note}>{note}</li>
        ))}
      </ul>
    </article>
  );
}

function How() {
  return (
    <article class="panel" aria-labelledby="how-title">
      <h2 id="how-title">How it is measured</h2>
      <ul class="proof-how">
        <li>
          <b>Bits.</b> A generator with a fixed seed writes 1,000 sentences, in several languages. The hash is SHA-256 over the
          bytes of their vectors. A single different bit changes the hash. The published hashes are in the source code; tests check
          them in Node, Chromium and Firefox.
        </li>
        <li>
          <b>Speed.</b> Each contender runs in a worker of its own. All take turns: five rounds of the same {kSentences} sentences,
          after a warm-up. The numbers are medians; the spread is the slowest round less the fastest, relative to the median.
        </li>
        <li>
          <b>First vector.</b> The time from starting a fresh worker to its first vector: code, WebAssembly, weights and one
          sentence. The number is the median of three workers; after the first, files come from the browser's cache.
        </li>
        <li>
          <b>Memory.</b> The size of all WebAssembly memories of the worker after the last round. They only grow, so this is the
          peak.
        </li>
        <li>
          <b>transformers.js.</b> It runs the same checkpoint as ONNX on WebAssembly, with the same number of threads. It pads all
          texts of a call to the longest, so this page uses the faster of two ways: one by one, or in sorted batches of 16.
        </li>
      </ul>
    </article>
  );
}
