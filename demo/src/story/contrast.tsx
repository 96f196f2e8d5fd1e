// The first picture: where one word looks in two sentences that differ in a word, and whether the model tells them apart.
import type { ComponentChildren } from 'preact';
import {
  changeOf,
  contrastOf,
  isFar,
  isWord,
  kContrast,
  kDeviations,
  leastShare,
  linkOf,
  type Difference,
  type Link,
  type Pair,
} from '../attention/evidence.js';
import { formatScore } from '../ui/format.js';
import { plainToken, wordOf, wordsOf } from '../ui/words.js';
import { written } from './opened.js';
import type { Told } from './use_story.js';

const percent = (share: number) => `${Math.round(100 * share)} %`;
const signed = (share: number) => `${share < 0 ? '−' : '+'}${Math.abs(Math.round(100 * share))}`;

interface ContrastProps {
  told: Told;
  onPick: (token: number) => void;
}

/** A row for each word: its share of attention in the first sentence to the left, in the second to the right. */
export function Contrast({ told, onPick }: ContrastProps) {
  const { inside, link, pair } = told;
  const { tokens } = inside;
  const seq = tokens.length;
  const of = (attentions: Float32Array[][], to: number) => linkOf(attentions, seq, link.layer, link.head, link.from, to);
  // A word of several tokens gets what they get together.
  const share = (attentions: Float32Array[][], all: readonly number[]) => all.reduce((sum, i) => sum + of(attentions, i).weight, 0);
  const rows = wordsOf(inside)
    .filter((word) => word.tokens.some((i) => isWord(inside, i)))
    .map((word) => ({
      ...word,
      ours: share(inside.attentions, word.tokens),
      theirs: pair && share(pair.attentions, word.tokens),
    }));
  const most = Math.max(0.05, ...rows.flatMap(({ ours, theirs }) => [ours, theirs ?? 0]));
  const rest = (attentions: Float32Array[][]) =>
    tokens.reduce((sum, _, i) => (isWord(inside, i) ? sum : sum + of(attentions, i).weight), 0);
  const differs = (i: number) =>
    pair !== undefined &&
    i !== link.from &&
    pair.tokens[i] === tokens[i] &&
    Math.abs(changeOf({ ours: of(inside.attentions, i), theirs: of(pair.attentions, i), share: 0 })) >= kContrast;
  const others = (all: readonly number[]) => pair && all.map((i) => plainToken(pair.tokens[i] ?? '')).join('');
  const at = pair && tokens.findIndex((token, i) => token !== pair.tokens[i]);
  const changed = at !== undefined && at >= 0 ? at : undefined;
  return (
    <table class={`contrast${pair ? '' : ' is-one'}`} data-picture>
      <caption class="visually-hidden">
        Where “{wordOf(inside, link.from)}” looks in layer {link.layer + 1}, head {link.head + 1}, in percent of its attention
      </caption>
      <thead class={changed !== undefined ? undefined : 'visually-hidden'}>
        <tr>
          <th scope="col">{changed !== undefined ? `“… ${wordOf(inside, changed)}”` : 'attention'}</th>
          <th scope="col">
            <span class="visually-hidden">word</span>
          </th>
          {pair && <th scope="col">{`“… ${wordOf({ ...inside, tokens: pair.tokens }, changed as number)}”`}</th>}
        </tr>
      </thead>
      <tbody>
        {rows.map(({ text, tokens: own, ours, theirs }) => {
          const other = others(own);
          const isAsker = own.includes(link.from);
          const isHot = !isAsker && own.some(differs);
          const follow = isAsker ? link.from : (own.at(-1) as number);
          return (
            <tr key={follow} class={isAsker ? 'is-asker' : isHot ? 'is-hot' : undefined}>
              <Bar weight={ours} most={most} />
              <th scope="row">
                <button
                  type="button"
                  class="contrast-word cell"
                  aria-pressed={isAsker}
                  aria-label={`Follow ${text}`}
                  onClick={() => onPick(follow)}
                >
                  {text}
                  {other !== undefined && other !== text && <i> / {other}</i>}
                </button>
              </th>
              {theirs !== undefined && <Bar weight={theirs} most={most} />}
            </tr>
          );
        })}
        <tr class="is-rest">
          <td>{percent(rest(inside.attentions))}</td>
          <th scope="row">start, end, punctuation</th>
          {pair && <td>{percent(rest(pair.attentions))}</td>}
        </tr>
      </tbody>
    </table>
  );
}

function Bar({ weight, most }: { weight: number; most: number }) {
  return (
    <td>
      <span class="contrast-bar">
        <span style={{ '--share': `${(100 * weight) / most}%` }} />
        <small>{percent(weight)}</small>
      </span>
    </td>
  );
}

/** What the picture shows, in words; nothing is claimed that it does not show. */
export function Verdict({ told }: { told: Told }): ComponentChildren {
  const { inside, link, pair, difference, isTold, isLinked } = told;
  const [asker, target] = [wordOf(inside, link.from), wordOf(inside, link.to)];
  if (pair && difference) {
    if (!isTold)
      return (
        <>
          <strong>This model does not tell the two apart here.</strong> No head both looks elsewhere for “{asker}” and changes the
          answer when it is copied from the other sentence.
        </>
      );
    const changed = inside.tokens.findIndex((token, i) => token !== pair.tokens[i]);
    const isOurs = changeOf(difference) > 0;
    const both = [wordOf(inside, changed), wordOf({ ...inside, tokens: pair.tokens }, changed)];
    const [word, otherWord] = isOurs ? both : both.reverse();
    const [high, low] = [contrastOf(difference.ours), contrastOf(difference.theirs)].sort((a, b) => b - a) as [number, number];
    const back = oppositeOf(told, isOurs);
    return (
      <>
        With “{word}”,{' '}
        <strong>
          “{asker}” looks more at “{target}”
        </strong>
        {back !== undefined && (
          <>
            ; with “{otherWord}”, <strong>more at “{wordOf(inside, back)}”</strong>
          </>
        )}
        . “{target}” gets {signed(high)} points compared with what other words give it, and {signed(low)} with “{otherWord}”.
        Copying only this head from one sentence to the other moves “{asker}” {percent(difference.share)} of the way.
      </>
    );
  }
  if (isLinked === undefined) return 'Turning off one head at a time to see which ones matter…';
  return isLinked ? (
    <>
      <strong>
        “{asker}” looks at “{target}”
      </strong>
      : {percent(link.weight)} of its attention in this head, where other tokens give it {percent(link.average)}. Removing this head
      changes the vector of “{asker}” more than removing the average head.
    </>
  ) : (
    <>
      <strong>No head links “{asker}” to another word here</strong> more than it links the other tokens, or “{asker}” does not
      depend on that head. The picture shows the head that comes closest.
    </>
  );
}

/** The word that the same head looks at more in the other sentence, if it differs as much. isOurs: whether the first one has more of the word that is shown. */
function oppositeOf({ inside, link, pair }: Told, isOurs: boolean): number | undefined {
  if (!pair) return undefined;
  const seq = inside.tokens.length;
  const less = (to: number) => {
    const [ours, theirs] = [inside, pair].map(({ attentions }) =>
      linkOf(attentions, seq, link.layer, link.head, link.from, to),
    ) as [Link, Link];
    return (isOurs ? -1 : 1) * changeOf({ ours, theirs, share: 0 });
  };
  return inside.tokens
    .map((_, to) => to)
    .filter(
      (to) =>
        isWord(inside, to) && isFar({ from: link.from, to }) && inside.tokens[to] === pair.tokens[to] && less(to) >= kContrast,
    )
    .sort((a, b) => less(b) - less(a))[0];
}

/** The numbers behind the verdict. */
export function Evidence({ told }: { told: Told }) {
  const { inside, link, pair, difference, effects } = told;
  const heads = inside.attentions.flat().length;
  const lines: [string, string][] = [
    ['Head', `layer ${link.layer + 1}, head ${link.head + 1}, chosen from all ${heads}`],
    ...(pair && difference
      ? pairLines(wordOf(inside, link.to), pair, difference)
      : [
          ['Attention', `${percent(link.weight)}; other tokens give this word ${percent(link.average)} on average`] as [
            string,
            string,
          ],
        ]),
  ];
  if (effects) {
    const all = effects.flat().map((row) => row[link.from] ?? 0);
    const mean = all.reduce((sum, effect) => sum + effect, 0) / all.length;
    const own = effects[link.layer]?.[link.head]?.[link.from] ?? 0;
    lines.push(['Without the head', `the vector of “${wordOf(inside, link.from)}” keeps a cosine of ${written(1 - own, 3)}; without the average head, ${written(1 - mean, 3)}`]); // prettier-ignore
  }
  return (
    <details class="story-evidence">
      <summary>The evidence</summary>
      <dl>
        {lines.map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
      </dl>
      <p class="hint">
        The picture claims a link only if the word gets {Math.round(100 * kContrast)} points more than other tokens give it, this
        differs by as much between the sentences, and patching the head from one sentence into the other moves the word that looks.
        For a single sentence, the link must also be {kDeviations} standard deviations above the average, and the word must need the
        head.
      </p>
    </details>
  );
}

function pairLines(target: string, pair: Pair, { ours, theirs, share }: Difference): [string, string][] {
  return [
    ['First sentence', `${percent(ours.weight)} to “${target}”; other tokens give it ${percent(ours.average)}`],
    ['Second sentence', `${percent(theirs.weight)} to “${target}”; other tokens give it ${percent(theirs.average)}`],
    [
      'Difference',
      `${Math.round(100 * Math.abs(changeOf({ ours, theirs, share })))} points above the average; needed: ${Math.round(100 * kContrast)}`,
    ],
    ['The word that looks', `its two vectors have a cosine of ${formatScore(pair.near)}`],
    ['Patching', `this head moves it ${written(100 * share, 1)} % of the way; needed: ${written(100 * leastShare(pair), 1)} %`],
  ];
}
