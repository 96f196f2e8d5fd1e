// The strongest links between words, in words: each leads to its head.
import { useMemo } from 'preact/hooks';
import { isFar, linksOf, type Link } from './kinds.js';
import type { Head, Inside } from './use_inside.js';

const kMost = 5;

interface LinksProps {
  inside: Inside;
  head: Head;
  token: number | undefined;
  onLink: (link: Link) => void;
}

export function Links({ inside, head, token, onLink }: LinksProps) {
  const links = useMemo(() => linksOf(inside).filter(isFar).slice(0, kMost), [inside]);
  if (links.length === 0) return null;
  return (
    <>
      <h3>Strongest links</h3>
      <ul class="links">
        {links.map((link) => {
          const isOn = head[0] === link.layer && head[1] === link.head && token === link.from;
          return (
            <li key={`${link.from} ${link.to}`}>
              <button type="button" class="link" aria-pressed={isOn} onClick={() => onLink(link)}>
                <b>{inside.tokens[link.from]}</b> looks at <b>{inside.tokens[link.to]}</b>
                <span class="link-weight">{link.weight.toFixed(2)}</span>
                <small>
                  layer {link.layer + 1}, head {link.head + 1}
                </small>
              </button>
            </li>
          );
        })}
      </ul>
    </>
  );
}
