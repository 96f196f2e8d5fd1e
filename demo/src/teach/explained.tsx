// Which words speak for a label: each on a ground as strong as what the score loses without it.
import type { Explanation } from 'wattn';

const kMostNamed = 3;

interface ExplainedProps {
  text: string;
  explanation: Explanation;
  /** Indices of the words that support the label whichever examples it is taught. */
  sure: ReadonlySet<number>;
}

export function Explained({ text, explanation, sure }: ExplainedProps) {
  const { words, label } = explanation;
  const most = Math.max(0.05, ...words.map(({ weight }) => Math.abs(weight)));
  const parts = [];
  let at = 0;
  for (const { start, end, weight } of words) {
    if (end > text.length) continue; // of the text before the last key
    parts.push(text.slice(at, start));
    parts.push(
      <span
        key={start}
        class={weight < 0 ? 'word is-against' : 'word'}
        style={{ '--share': `${Math.round((100 * Math.abs(weight)) / most)}%` }}
        title={`${weight < 0 ? '−' : '+'}${Math.abs(weight).toFixed(2)}`}
      >
        {text.slice(start, end)}
      </span>,
    );
    at = end;
  }
  const named = words
    .filter(({ weight }, i) => weight > 0 && sure.has(i))
    .sort((a, b) => b.weight - a.weight)
    .slice(0, kMostNamed)
    .map(({ word, weight }) => `“${word}” +${weight.toFixed(2)}`);
  return (
    <div class="explained">
      <p class="explained-text">
        {parts}
        {text.slice(at)}
      </p>
      <p class="hint">
        {named.length > 0
          ? `Words that support ${label}: ${named.join(', ')} (how much the score drops without the word). They do so with most choices of examples, too.`
          : `No single word clearly supports ${label}: which words do depends on the choice of examples.`}
      </p>
    </div>
  );
}
