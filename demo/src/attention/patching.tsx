// Card: which vector carries a difference between two texts? One at a time is taken over from the other text (activation patching).
import { useRef, useState } from 'preact/hooks';
import { CodeOf } from '../ui/copy.js';
import { Pictures } from '../ui/pictures.js';
import type { ModelSpecifier } from 'wattn';
import { patchingCode } from './attention_code.js';
import { useKept } from '../ui/kept.js';
import { Problem } from '../ui/lazy.js';
import type { Door, Traced } from './use_inside.js';

interface PatchingProps {
  door: Door;
  source: ModelSpecifier | null;
  text: string;
}

export function PatchingCard({ door, source, text }: PatchingProps) {
  const [other, setOther] = useKept('attention.other', () => 'The dog sat on the mat because it was hungry.');
  const [traced, setTraced] = useState<Traced & { of: string }>();
  const [error, setError] = useState<Error>();
  const [running, setRunning] = useState(false);
  const asked = useRef(0);
  const of = `${text}\n${other}`;
  const trace = async () => {
    const mine = ++asked.current;
    setError(undefined);
    setRunning(true);
    try {
      for await (const part of door.trace(text, other, () => asked.current !== mine)) setTraced({ ...part, of });
    } catch (reason) {
      setError(reason as Error);
    } finally {
      if (asked.current === mine) setRunning(false);
    }
  };
  const shown = traced?.of === of ? traced : undefined;
  return (
    <article class="panel" aria-labelledby="patching-title">
      <h2 id="patching-title">Which token and layer make the difference?</h2>
      <p class="hint">
        Change a word of the text above. The page then copies one vector at a time (one token after one layer) from the changed text
        into the original, and recomputes everything after it. This is called activation patching.
      </p>
      <label for="attention-other">The changed text</label>
      <input id="attention-other" value={other} autocomplete="off" onInput={(event) => setOther(event.currentTarget.value)} />
      <button
        type="button"
        class="small"
        disabled={running || text.trim() === '' || other.trim() === ''}
        onClick={() => void trace()}
      >
        {running ? 'Computing…' : 'Trace it'}
      </button>
      {error && <Problem error={error} />}
      {shown && <Shares traced={shown} />}
      {shown && <Pictures name="patching" title="How far one vector of the changed text moves the original" />}
      {shown && <CodeOf code={patchingCode(source, text, other)} />}
    </article>
  );
}

const percent = (share: number) => `${Math.round(100 * share) || 0} %`.replace('-', '−');

function Shares({ traced: { tokens, others, shares } }: { traced: Traced }) {
  return (
    <>
      <p class="hint">
        How far copying this vector moves the text's mean vector towards that of the changed text; 100 % is all the way.
      </p>
      <div class="matrix-scroll" tabIndex={0} role="region" aria-label="Effect of each token and layer">
        <table class="shares" data-picture>
          <thead>
            <tr>
              <th scope="col">token</th>
              {shares.map((_, layer) => (
                <th key={layer} scope="col">
                  layer {layer + 1}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {tokens.map((token, i) => (
              <tr key={i}>
                <th scope="row">{token === others[i] ? token : `${token} → ${others[i]}`}</th>
                {shares.map((row, layer) => (
                  <td key={layer} style={{ '--share': `${Math.round(100 * Math.min(1, Math.max(0, row[i] as number)))}%` }}>
                    {percent(row[i] as number)}
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </>
  );
}
