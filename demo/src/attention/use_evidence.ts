// What turning heads off, and taking them over from another sentence, says of a sentence.
import { useEffect, useState } from 'preact/hooks';
import type { Pair } from './evidence.js';
import type { Door, Inside } from './use_inside.js';

/** [layers][heads][tokens], once every head was turned off; undefined before. inside: what the texts have become. */
export function useEffects(door: Door | undefined, inside: Inside | undefined, text: string, pair = '') {
  const [found, setFound] = useState<{ of: Inside; effects: Float32Array[][] }>();
  useEffect(() => {
    if (!door || !inside) return;
    let stale = false;
    door
      .effects({ text, pair }, () => stale)
      .then((effects) => effects && !stale && setFound({ of: inside, effects }))
      .catch(() => {}); // what is wrong with the text or the model, the insides say
    return () => void (stale = true);
  }, [door, inside]);
  return found && found.of === inside ? found.effects : undefined;
}

/** pair: null where the sentences cannot be compared; undefined before that is known. */
export function usePair(door: Door | undefined, inside: Inside | undefined, text: string, other: string, from: number | undefined) {
  const [found, setFound] = useState<{ of: Inside; key: string; pair: Pair | null }>();
  const key = `${from}\n${other}`;
  useEffect(() => {
    if (!door || !inside || from === undefined || other.trim() === '') return;
    let stale = false;
    door
      .compare(text, other, from)
      .then(
        (pair) => !stale && setFound({ of: inside, key, pair: pair && isSameBut(inside.tokens, pair.tokens, from) ? pair : null }),
      )
      .catch(() => !stale && setFound({ of: inside, key, pair: null }));
    return () => void (stale = true);
  }, [door, inside, key]);
  if (other.trim() === '') return null;
  return found && found.of === inside && found.key === key ? found.pair : undefined;
}

const kMostChanged = 1 / 3; // of the tokens: more is another sentence

function isSameBut(tokens: readonly string[], others: readonly string[], from: number): boolean {
  const changed = tokens.filter((token, i) => token !== others[i]).length;
  return changed > 0 && changed <= kMostChanged * tokens.length && tokens[from] === others[from];
}
