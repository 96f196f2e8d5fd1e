// Card: shuffle the words, and see whether attention notices.
import { nn } from 'wattn/nn';
import { useMemo, useState } from 'preact/hooks';
import { Choice } from '../ui/choice.js';
import { oneOf, useKept, type Written } from '../ui/kept.js';
import { kKinds, kWhat, move, type Kind } from './attend.js';
import { CodeOf } from '../ui/copy.js';
import { Heatmap } from '../ui/heatmap.js';
import { Pictures } from '../ui/pictures.js';
import { orderCode } from './positions_code.js';

const kMostWords = 16;
const kRounding = 1e-5; // of float32 sums in another order

const wordsOf = (text: string) => text.trim().split(/\s+/).filter(Boolean).slice(0, kMostWords);
/** Places with a space between them: each number below their count once. */
const kOrder: Written<readonly number[]> = {
  write: (order) => order.join(' '),
  read(text) {
    const order = text.split(' ').map(Number);
    return inOrder(order.length).every((place) => order.includes(place)) ? order : undefined;
  },
};

const inOrder = (count: number) => Array.from({ length: count }, (_, i) => i);

export function OrderCard() {
  const [text, setText] = useKept('positions.text', () => 'the dog bites the man');
  const [kind, setKind] = useKept<Kind>('positions.kind', () => 'none', oneOf(kKinds.map(([one]) => one)));
  const [seed, setSeed] = useState(1);
  const [order, setOrder] = useKept<readonly number[]>('positions.order', () => nn.permutation(wordsOf(text).length, 1), kOrder);
  const words = wordsOf(text);
  const places = order.length === words.length ? order : inOrder(words.length);
  const moved = useMemo(() => (words.length > 0 ? move(words, places, kind) : undefined), [text, places.join(), kind]);
  const shuffle = () => {
    setOrder(nn.permutation(words.length, seed + 1));
    setSeed(seed + 1);
  };
  const names = places.map((i) => words[i] as string);
  return (
    <article class="panel" aria-labelledby="order-title">
      <h2 id="order-title">Does attention know the order?</h2>
      <p class="hint">Each word is a random vector, always the same for the same word. Here are the same words in two orders:</p>
      <input value={text} aria-label="Words" autocomplete="off" onInput={(event) => setText(event.currentTarget.value)} />
      <div class="order-line">
        <Choice label="Positions of the words" value={kind} options={kKinds} onChange={setKind} />
        <div class="steps-buttons">
          <button type="button" class="secondary outline small" onClick={shuffle}>
            Shuffle
          </button>
          <button type="button" class="secondary outline small" onClick={() => setOrder(inOrder(words.length).reverse())}>
            Reverse
          </button>
          <button type="button" class="secondary outline small" onClick={() => setOrder(inOrder(words.length))}>
            As written
          </button>
        </div>
      </div>
      <p class="hint order-what">{kWhat[kind]}</p>
      {moved && (
        <>
          <div class="order-pictures" data-picture>
            <Heatmap title="As written" rows={words.length} columns={words.length} values={moved.before.data} names={words} />
            <Heatmap
              title={`Now: ${names.join(' ')}`}
              rows={words.length}
              columns={words.length}
              values={moved.after.data}
              names={names}
            />
          </div>
          <Verdict change={moved.change} />
          <Pictures name="word-order" title={`Attention between words: ${kKinds.find(([one]) => one === kind)?.[1]}`} />
          <CodeOf code={orderCode(words, places, kind)} />
        </>
      )}
    </article>
  );
}

function Verdict({ change }: { change: number }) {
  return (
    <p role="status" class="verdict" data-change={change}>
      {change <= kRounding ? (
        <>
          <strong>It does not notice.</strong> Every word gets the same vector as before, at its new place (largest difference{' '}
          {change.toExponential(0).replace('-', '−')}).
        </>
      ) : (
        <>
          <strong>It notices.</strong> The words' vectors change by up to {change.toFixed(3)}.
        </>
      )}
    </p>
  );
}
