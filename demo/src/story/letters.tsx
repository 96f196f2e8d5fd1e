// The beginning of the story: the sentence as letters, then as tokens.
import { Num, type SceneProps } from './rows.js';

const kMostLetters = 80;

/** Each letter with its Unicode number: all that a computer has before the model reads. Needs no model. */
export function Letters({ text }: { text: string }) {
  const letters = [...text];
  return (
    <p class="story-letters">
      {letters.slice(0, kMostLetters).map((letter, i) => (
        <span key={i} style={{ '--at': i }}>
          <b>{letter === ' ' ? '\u00a0' : letter}</b>
          <small>{letter.codePointAt(0)}</small>
        </span>
      ))}
      {letters.length > kMostLetters && <span>…</span>}
    </p>
  );
}

/** Each token with its number in the vocabulary. */
export function TokenTiles({ told: { inside }, onOpen }: Pick<SceneProps, 'told' | 'onOpen'>) {
  return (
    <ol class="story-tiles">
      {inside.tokens.map((token, i) => (
        <li key={i} style={{ '--at': i }}>
          <span class={`chip story-tile${inside.spans[i]?.[1] === 0 ? ' is-special' : ''}`} data-token={i}>
            {token}
          </span>
          <Num label={`Number of ${token}: ${inside.ids[i]}. Where it comes from`} onClick={() => onOpen({ kind: 'id', token: i })}>
            {inside.ids[i]}
          </Num>
        </li>
      ))}
    </ol>
  );
}
