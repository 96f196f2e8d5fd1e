// Links between words that heads really make: above their average, and needed. Each leads to its head.
import { useMemo } from 'preact/hooks';
import { claimsOf, contrastOf, isFar, kContrast, kDeviations, linksOf, type Link } from './evidence.js';
import type { Head, Inside } from './use_inside.js';

const kMost = 5;

interface LinksProps {
  inside: Inside;
  /** undefined: not computed yet. */
  effects: Float32Array[][] | undefined;
  head: Head;
  token: number | undefined;
  onLink: (link: Link) => void;
}

const points = (share: number) => Math.round(100 * share);

export function Links({ inside, effects, head, token, onLink }: LinksProps) {
  const links = useMemo(() => linksOf(inside).filter(isFar), [inside]);
  const claimed = useMemo(() => effects && claimsOf(links, effects).slice(0, kMost), [links, effects]);
  return (
    <>
      <h3>Links between words</h3>
      <p class="hint" role="status">
        {claimed
          ? claimed.length > 0
            ? `A head counts here if one token gives a word ${points(kContrast)} points (and ${kDeviations} standard deviations) more attention than other tokens give it. The token's vector must also depend on that head more than on the average head.`
            : 'In this text, no head links two words clearly more than it links others.'
          : 'Turning off one head at a time…'}
      </p>
      {claimed && (
        <ul class="links">
          {claimed.map((link) => {
            const isOn = head[0] === link.layer && head[1] === link.head && token === link.from;
            return (
              <li key={`${link.from} ${link.to}`}>
                <button type="button" class="link" aria-pressed={isOn} onClick={() => onLink(link)}>
                  <b>{inside.tokens[link.from]}</b> looks at <b>{inside.tokens[link.to]}</b>
                  <span class="link-weight">+{points(contrastOf(link))}</span>
                  <small>
                    {points(link.weight)} %, others {points(link.average)} % · layer {link.layer + 1}, head {link.head + 1}
                  </small>
                </button>
              </li>
            );
          })}
        </ul>
      )}
    </>
  );
}
