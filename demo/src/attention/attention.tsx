// Panel: which token looks at which: all heads at a glance, one head as lines, as numbers, and step by step.
import './attention.css';
import { useMemo, useState } from 'preact/hooks';
import type { PanelProps } from '../panel.js';
import { formatScore, plural } from '../ui/format.js';
import { oneOf, useKept } from '../ui/kept.js';
import { Problem } from '../ui/lazy.js';
import { Choice } from '../ui/choice.js';
import { CodeOf } from '../ui/copy.js';
import { Pictures } from '../ui/pictures.js';
import { attentionCode } from './attention_code.js';
import { linkIn, linkToTell } from './kinds.js';
import { Lines } from './lines.js';
import { Links } from './links.js';
import { LensCard } from './lens.js';
import { Matrix } from './matrix.js';
import { Overview } from './overview.js';
import { PatchingCard } from './patching.js';
import { poster } from './poster.js';
import { Steps } from './steps.js';
import { useEffects } from './use_evidence.js';
import { useInside, type Head, type ViewProps } from './use_inside.js';

const kViews = [
  ['lines', 'Lines'],
  ['matrix', 'Numbers'],
  ['steps', 'Step by step'],
] as const;
type View = (typeof kViews)[number][0];

export function AttentionPanel({ model: { source } }: PanelProps) {
  const [text, setText] = useKept('attention.text', () => 'The cat sat on the mat because it was hungry.');
  const [pair, setPair] = useKept('attention.pair', () => '');
  const [view, setView] = useKept<View>('attention.view', () => 'lines', oneOf(kViews.map(([one]) => one)));
  const [chosen, setHead] = useState<Head>();
  const [token, setToken] = useState<number>();
  const [off, setOff] = useState<ReadonlySet<string>>(new Set());
  const { inside, error, door } = useInside(source, { text, pair, off });
  const effects = useEffects(door, inside, text, pair);
  // Until a person chooses, what the story follows, too.
  const best = useMemo(() => inside && linkToTell(inside), [inside]);
  const head: Head = chosen ?? (best ? [best.layer, best.head] : [0, 0]);
  const followed = token ?? (chosen ? undefined : best?.from);
  return (
    <div class="attention-bench">
      <article class="panel attention-panel" aria-labelledby="attention-title">
        <h2 id="attention-title">Attention</h2>
        <div class="attention-texts">
          <div>
            <label for="attention-text">What does each token of this text attend to?</label>
            <input id="attention-text" value={text} autocomplete="off" onInput={(event) => setText(event.currentTarget.value)} />
          </div>
          <div>
            <label for="attention-pair">A second text (optional)</label>
            <input id="attention-pair" value={pair} autocomplete="off" onInput={(event) => setPair(event.currentTarget.value)} />
          </div>
        </div>
        {error && <Problem error={error} />}
        {!inside && !error && <p class="hint">{text.trim() === '' ? 'Write a text.' : 'Loading the model…'}</p>}
        {inside && (
          <div class="attention">
            <div>
              <Links
                inside={inside}
                effects={effects}
                head={head}
                token={followed}
                onLink={({ layer, head: one, from }) => {
                  setHead([layer, one]);
                  setToken(from);
                }}
              />
              <h3>All heads</h3>
              <p class="hint">
                One row per layer. In each picture, a row shows what one token attends to; the colour shows what the head mostly
                attends to. Choose a head.
              </p>
              <Overview
                inside={inside}
                head={head}
                off={off}
                onHead={(next) => {
                  setHead(next);
                  setToken(followed);
                }}
              />
              <Switches inside={inside} head={head} off={off} onOff={setOff} />
            </div>
            <div>
              <div class="panel-head">
                <h3>
                  Layer {head[0] + 1}, head {head[1] + 1}
                </h3>
                <Choice label="View of the head" value={view} options={kViews} onChange={setView} />
              </div>
              {inside.cut && <p class="warning">The text is longer; only its first {inside.tokens.length} tokens are shown.</p>}
              {view === 'lines' && (
                <Lines
                  inside={inside}
                  head={head}
                  token={followed}
                  onToken={(next) => {
                    setHead(head);
                    setToken(next);
                  }}
                />
              )}
              {view === 'lines' && followed !== undefined && followed < inside.tokens.length && (
                <Pictures name="attention" svg={() => poster(inside, linkIn(inside, ...head, followed))} />
              )}
              {view === 'matrix' && (
                <>
                  <Matrix inside={inside} head={head} />
                  <Pictures name="attention-matrix" title={`Attention of layer ${head[0] + 1}, head ${head[1] + 1}`} />
                </>
              )}
              {view === 'steps' && (
                <Steps
                  inside={inside}
                  head={head}
                  token={followed}
                  onToken={(next) => {
                    setHead(head);
                    setToken(next);
                  }}
                />
              )}
            </div>
          </div>
        )}
        {inside && <CodeOf code={attentionCode(source, text, pair, head)} />}
      </article>
      {door && <PatchingCard door={door} source={source} text={text} />}
      <LensCard source={source} text={text} />
    </div>
  );
}

interface SwitchesProps extends ViewProps {
  off: ReadonlySet<string>;
  onOff: (off: ReadonlySet<string>) => void;
}

/** Turns heads off, and says what the text's vector loses. */
function Switches({ inside, head, off, onOff }: SwitchesProps) {
  const [layer, one] = head;
  const toggle = (names: readonly string[]) => {
    const next = new Set(off);
    const isOff = names.every((name) => next.has(name));
    for (const name of names) {
      if (isOff) next.delete(name);
      else next.add(name);
    }
    onOff(next);
  };
  const name = `${layer} ${one}`;
  const row = (inside.attentions[layer] ?? []).map((_, i) => `${layer} ${i}`);
  const isRowOff = row.every((other) => off.has(other));
  return (
    <div class="attention-line">
      <button type="button" class="secondary outline small" aria-pressed={off.has(name)} onClick={() => toggle([name])}>
        Turn layer {layer + 1}, head {one + 1} {off.has(name) ? 'on' : 'off'}
      </button>
      <button type="button" class="secondary outline small" aria-pressed={isRowOff} onClick={() => toggle(row)}>
        Turn all of layer {layer + 1} {isRowOff ? 'on' : 'off'}
      </button>
      <p class="timing" role="status">
        {off.size === 0
          ? 'Every head is on.'
          : `${plural(off.size, 'head')} off: the text's mean vector has a cosine of ${formatScore(inside.kept)} to that of the full model.`}
      </p>
    </div>
  );
}
