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
  const rows = tokens.flatMap((token, i) => (isWord(inside, i) ? [{ token, i, ours: of(inside.attentions, i), theirs: pair && of(pair.attentions, i) }] : [])); // prettier-ignore
  const most = Math.max(0.05, ...rows.flatMap(({ ours, theirs }) => [ours.weight, theirs?.weight ?? 0]));
  const rest = (attentions: Float32Array[][]) =>
    tokens.reduce((sum, _, i) => (isWord(inside, i) ? sum : sum + of(attentions, i).weight), 0);
  const differs = (ours: Link, theirs: Link) => Math.abs(changeOf({ ours, theirs, share: 0 })) >= kContrast;
  const changed = pair && tokens.findIndex((token, i) => token !== pair.tokens[i]);
  return (
    <table class={`contrast${pair ? '' : ' is-one'}`} data-picture>
      <caption class="visually-hidden">
        Where “{tokens[link.from]}” looks in layer {link.layer + 1}, head {link.head + 1}, in percent of its attention
      </caption>
      <thead class={changed !== undefined ? undefined : 'visually-hidden'}>
        <tr>
          <th scope="col">{changed !== undefined ? `“… ${tokens[changed]}”` : 'attention'}</th>
          <th scope="col">
            <span class="visually-hidden">word</span>
          </th>
          {pair && <th scope="col">{`“… ${pair.tokens[changed as number]}”`}</th>}
        </tr>
      </thead>
      <tbody>
        {rows.map(({ token, i, ours, theirs }) => {
          const isOther = pair !== undefined && pair.tokens[i] !== token;
          const isHot = theirs !== undefined && !isOther && i !== link.from && differs(ours, theirs);
          return (
            <tr key={i} class={i === link.from ? 'is-asker' : isHot ? 'is-hot' : undefined}>
              <Bar weight={ours.weight} most={most} />
              <th scope="row">
                <button
                  type="button"
                  class="contrast-word cell"
                  aria-pressed={i === link.from}
                  aria-label={`Follow ${token}`}
                  onClick={() => onPick(i)}
                >
                  {token}
                  {isOther && <i> / {pair.tokens[i]}</i>}
                </button>
              </th>
              {theirs && <Bar weight={theirs.weight} most={most} />}
            </tr>
          );
        })}
        <tr class="is-rest">
          <td>{percent(rest(inside.attentions))}</td>
          <th scope="row">start, end, marks</th>
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
  const [asker, target] = [inside.tokens[link.from], inside.tokens[link.to]];
  if (pair && difference) {
    if (!isTold)
      return (
        <>
          <strong>This model does not tell the two apart here.</strong> No head looks elsewhere for “{asker}” and changes the answer
          when it is taken over from the other sentence.
        </>
      );
    const changed = inside.tokens.findIndex((token, i) => token !== pair.tokens[i]);
    const isOurs = changeOf(difference) > 0;
    const [word, otherWord] = isOurs
      ? [inside.tokens[changed], pair.tokens[changed]]
      : [pair.tokens[changed], inside.tokens[changed]];
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
            ; with “{otherWord}”, <strong>more at “{inside.tokens[back]}”</strong>
          </>
        )}
        . “{target}” gets {signed(high)} points over what other words give it, and {signed(low)} with “{otherWord}”. Taking over
        this one head moves “{asker}” {percent(difference.share)} of the way.
      </>
    );
  }
  if (isLinked === undefined) return 'Turning each head off once, to see which are needed…';
  return isLinked ? (
    <>
      <strong>
        “{asker}” looks at “{target}”
      </strong>
      : {percent(link.weight)} of its attention in this head, where other tokens give it {percent(link.average)}. Without the head,
      the vector of “{asker}” changes more than without the average head.
    </>
  ) : (
    <>
      <strong>No head links “{asker}” to another word here</strong> more than it links the other tokens, or none that it needs. The
      picture shows the head that comes nearest.
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
    ['Head', `layer ${link.layer + 1}, head ${link.head + 1}, chosen of all ${heads}`],
    ...(pair && difference
      ? pairLines(inside.tokens[link.to] as string, pair, difference)
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
    lines.push(['Without the head', `the vector of “${inside.tokens[link.from]}” keeps a cosine of ${written(1 - own, 3)}; without the average head, ${written(1 - mean, 3)}`]); // prettier-ignore
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
        The picture claims a link only if the word gets {Math.round(100 * kContrast)} points more than other tokens give it, if that
        differs as much between the sentences, and if patching the head from one sentence into the other moves the word that looks.
        For one sentence alone: if it stands {kDeviations} standard deviations above, and if the word needs the head.
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
