// Panel: the whole model as one picture, with the visitor's sentence in it; a path leads through it, and every number opens to its formula.
import './whole.css';
import { useEffect, useMemo, useState } from 'preact/hooks';
import { firstToken } from '../attention/kinds.js';
import { isForeign } from '../model/foreign.js';
import { Foreign, ModelCard } from '../model/model_card.js';
import type { PanelProps } from '../panel.js';
import { kText } from '../story/scenes.js';
import { CodeOf } from '../ui/copy.js';
import { keptNow, useKept } from '../ui/kept.js';
import { Problem } from '../ui/lazy.js';
import { plainToken } from '../ui/words.js';
import { Answers, Weights } from './answers.js';
import type { Facts } from './facts.js';
import { OpenedPart } from './opened_part.js';
import { idOf, isThere, kWhole, partOf, type Part } from './parts.js';
import { pathOf, type PathStep } from './path.js';
import { PathText, usePath } from './path_text.js';
import { Picture } from './picture.js';
import { useWhole } from './use_whole.js';
import { wholeCode } from './whole_code.js';

/** The token that a part is of, if it is of one. */
function tokenOf({ kind, at }: Part): number | undefined {
  if (kind === 'token' || kind === 'vector') return at[0];
  if (kind === 'mix' || kind === 'inner' || kind === 'out') return at[1];
  return kind === 'row' || kind === 'link' || kind === 'query' || kind === 'context' ? at[2] : undefined;
}

function isThereIn(facts: Facts, one: Part): boolean {
  return isThere(one, facts.sizes) && (one.cell === undefined || one.cell < (facts.vectorOf(one)?.length ?? 0));
}

export function WholePanel({ model, options, load }: PanelProps) {
  const [text, setText] = useKept('whole.text', () => kText);
  const [id, setId] = useKept('whole.at', () => idOf(kWhole));
  const [picked, setPicked] = useState<number>();
  const [hide, setHide] = useState<number | 'none'>();
  const [arrivals, setArrivals] = useState(0);
  const { facts, error, weights, readWeights } = useWhole(model, options, text, hide === 'none' ? undefined : hide);
  const isEmpty = text.trim() === '';
  // The sentence of the first screen comes along.
  useEffect(() => {
    const before = keptNow('story.text');
    if (text === kText && typeof before === 'string' && before !== kText) setText(before);
  }, []);
  const first = facts && firstToken(facts.run);
  const wanted = picked ?? (typeof hide === 'number' ? hide : undefined) ?? first ?? 0;
  const followed = facts ? Math.min(wanted, facts.sizes.tokens - 1) : 0;
  // A model that fills in words has one to fill in.
  useEffect(() => {
    if (facts?.kind === 'masked' && hide === undefined && facts.run.masked === undefined) setHide(first);
  }, [facts]);
  const steps = useMemo<PathStep[]>(() => (facts ? pathOf(facts, followed) : []), [facts, followed]);
  const path = usePath(steps.length, facts !== undefined);
  const asked = partOf(id) ?? kWhole;
  const at = facts && !isThereIn(facts, asked) ? kWhole : asked;
  const open = (one: Part) => {
    path.stop();
    setId(idOf(one));
    setArrivals((before) => before + 1);
    const token = tokenOf(one);
    if (token !== undefined) setPicked(token);
  };
  /** Where a step of the path leads. */
  const step = steps[path.step];
  const place = step && idOf(step.at);
  useEffect(() => {
    if (place !== undefined && path.isChosen) {
      setId(place);
      setArrivals((before) => before + 1);
    }
  }, [place, path.step, path.isChosen]);
  const write = (next: string) => {
    setPicked(undefined);
    setHide(undefined);
    setText(next);
  };
  return (
    <article class="panel whole" aria-labelledby="whole-title">
      <h2 id="whole-title">The whole model, with your sentence in it</h2>
      <label class="visually-hidden" for="whole-text">
        Your sentence
      </label>
      <textarea
        id="whole-text"
        class="whole-input"
        rows={1}
        value={text}
        autocomplete="off"
        onFocus={path.stop}
        onInput={(event) => write(event.currentTarget.value.replace(/\n/g, ' '))}
      />
      {facts && isForeign(text, facts.sizes.tokens, facts.run.unknown) && <Foreign model={model} load={load} />}
      {error && !isEmpty && <Problem error={error} />}
      {facts?.run.cut && <p class="warning">The text is longer; only its first {facts.sizes.tokens} tokens are shown.</p>}
      <div class="whole-bench">
        <Picture facts={facts} at={at} followed={followed} arrivals={arrivals} onOpen={open} onHand={path.stop} />
        <div class="whole-side">
          <PathText steps={steps} path={path} says={isEmpty ? 'Write a sentence.' : 'Loading the model…'} />
          {facts && <OpenedPart facts={facts} at={at} onOpen={open} />}
        </div>
      </div>
      {facts && (
        <Answers
          facts={facts}
          load={load}
          followed={plainToken(facts.run.tokens[followed] ?? '')}
          isHidden={facts.run.masked !== undefined}
          onHide={(isHidden) => setHide(isHidden ? followed : 'none')}
          onWrite={(more) => write(text + more)}
        />
      )}
      {facts && <Weights state={weights} text={facts.run.text} gap={facts.inner?.gap} onRead={readWeights} />}
      <ModelCard model={model} />
      {facts && <CodeOf code={wholeCode(model.source, facts.kind, text)} />}
    </article>
  );
}
