// The results, as they come.
import { useState } from 'preact/hooks';
import { Choice } from '../ui/choice.js';
import { CopyButton } from '../ui/copy.js';
import { formatBytes } from '../ui/format.js';
import { formatAgreement } from '../ui/numbers.js';
import type { Row } from './run.js';
import { factsOf, formatMs, formatSpeed, formatSpread, toMarkdown, toTsv } from './table.js';
import type { Proof } from './use_proof.js';

export function BitsCard({ proof: { rows } }: { proof: Proof }) {
  const ours = rows.filter(({ library }) => library === 'wattn');
  const bits = ours.length > 0 ? ours : (['f32', 'q16', 'q8'] as const).map((dtype) => ({ name: `wattn ${dtype}`, dtype }) as Row);
  return (
    <article class="panel" aria-labelledby="bits-title">
      <h2 id="bits-title">The same bits</h2>
      <p class="hint">1,000 sentences give bit-identical vectors in every browser and on every processor.</p>
      <dl class="proof-bits">
        {bits.map(({ name, dtype, hash, published, error }) => (
          <div key={name} data-dtype={dtype}>
            <dt>{dtype}</dt>
            <dd>
              <code>{hash ?? '…'}</code>
              {hash && <Verdict hash={hash} published={published} />}
              {error && <small class="warning">{error}</small>}
            </dd>
          </div>
        ))}
      </dl>
    </article>
  );
}

function Verdict({ hash, published }: { hash: string; published: string | undefined }) {
  if (!published) return <small>Compare this hash with another browser's: hashes are published only for the bundled model.</small>;
  return hash === published ? (
    <strong class="proof-same">✓ as published</strong>
  ) : (
    <strong class="warning">
      ✗ differs from <code>{published}</code>
    </strong>
  );
}

export function SpeedCard({ proof: { rows, chosen }, rival }: { proof: Proof; rival: boolean }) {
  const measured = rows.filter(({ textsPerSecond, error }) => textsPerSecond || error);
  const most = Math.max(...rows.map(({ textsPerSecond = 0 }) => textsPerSecond));
  return (
    <article class="panel" aria-labelledby="speed-title">
      <h2 id="speed-title">Speed</h2>
      {measured.length === 0 && <p class="hint">Sentences per second, measured in turns; medians of five rounds.</p>}
      <ul class="proof-speed">
        {measured.map((row) => (
          <li key={row.name} data-row={row.name}>
            <b>{row.name}</b>
            {row.textsPerSecond ? (
              <>
                <span class="proof-figure">
                  <b>{formatSpeed(row.textsPerSecond)}</b> texts/s
                </span>
                <span class="bar" style={{ '--share': `${Math.round((100 * row.textsPerSecond) / most)}%` }} aria-hidden="true" />
                <small>{detailsOf(row)}</small>
              </>
            ) : (
              <small class="warning">Could not be measured: {row.error}</small>
            )}
          </li>
        ))}
      </ul>
      <p class="hint proof-rival">{rivalNote(rival, chosen !== undefined && chosen.model === null)}</p>
    </article>
  );
}

const detailsOf = ({ textsPerSecond = 1, aloneMs = 0, spread = 0, agreement = 1, way }: Row) =>
  [
    `${(1000 / textsPerSecond).toFixed(2)}\u00a0ms per text`,
    `${formatMs(aloneMs)} for one text alone`,
    `spread ${formatSpread(spread)}`,
    `lowest cosine to f32 ${formatAgreement(agreement)}`,
    ...(way ? [way] : []),
  ].join(' · ');

function rivalNote(rival: boolean, bundled: boolean): string {
  if (!rival)
    return 'Not compared with transformers.js: this page was served without it, and it loads no code from other servers. To compare, run “npm run demo -- --rival” in a clone of wattn and open this page there.';
  if (bundled) return 'Not compared with transformers.js: the bundled model has no ONNX file. Choose a model that has one.';
  return 'transformers.js runs onnx/model.onnx (fp32) and onnx/model_quantized.onnx (q8) of the same checkpoint.';
}

export function StartCard({ proof: { rows } }: { proof: Proof }) {
  const started = rows.filter(({ firstVectorMs }) => firstVectorMs);
  const size = (bytes: number | undefined) => (bytes ? formatBytes(bytes) : '…');
  return (
    <article class="panel" aria-labelledby="start-title">
      <h2 id="start-title">Start, memory, download</h2>
      {started.length === 0 && (
        <p class="hint">The time from a fresh worker to the first vector, and the memory and files it takes.</p>
      )}
      {started.length > 0 && (
        <div class="matrix-scroll" tabIndex={0} role="region" aria-label="Table of start, memory and download">
          <table class="proof-table">
            <thead>
              <tr>
                <td />
                <th scope="col">First vector</th>
                <th scope="col">Memory</th>
                <th scope="col">Code</th>
                <th scope="col">Model</th>
              </tr>
            </thead>
            <tbody>
              {started.map(({ name, firstVectorMs, sizes }) => (
                <tr key={name}>
                  <th scope="row">{name}</th>
                  <td>{formatMs(firstVectorMs as number)}</td>
                  <td>{size(sizes?.memory)}</td>
                  <td>{size(sizes?.code)}</td>
                  <td>{size(sizes?.files)}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
      {started.length > 0 && <p class="hint">Code is counted as this server sends it, compressed or not.</p>}
    </article>
  );
}

export function CopyCard({ proof, notes }: { proof: Proof; notes: readonly string[] }) {
  const [format, setFormat] = useState<'markdown' | 'tsv'>('markdown');
  const facts = factsOf(proof.rows, proof.environment, proof.chosen?.name ?? '', proof.date);
  const text = format === 'markdown' ? toMarkdown(proof.rows, facts, notes) : toTsv(proof.rows, facts);
  return (
    <article class="panel proof-copy" aria-labelledby="copy-title">
      <div class="panel-head">
        <h2 id="copy-title">Copy the results</h2>
        <Choice
          label="Format"
          value={format}
          options={[
            ['markdown', 'Markdown'],
            ['tsv', 'TSV'],
          ]}
          onChange={setFormat}
        />
      </div>
      <pre tabIndex={0} aria-label="The results as text">
        {text}
      </pre>
      <p class="proof-run">
        <CopyButton label="Copy" text={() => text} title="The results as text" />
      </p>
    </article>
  );
}
