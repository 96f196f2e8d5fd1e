// The text that is being written: its tokens, what could have stood at each place, and the branches that were left.
import { useEffect, useRef, useState } from 'preact/hooks';
import { alternativesOf, drawFrom, randomAt, type Alternative, type Settings } from './choose.js';
import type { Next, Writer } from './writers.js';

const kPause = 300; // ms between two tokens of a play
const kMostTokens = 60;

export interface Writing {
  ids: readonly number[];
  /** The place whose alternatives are shown; `ids.length` is the next one. */
  place: number;
  branches: readonly (readonly number[])[];
  playing: boolean;
}

const keyOf = (ids: readonly number[], place: number) => ids.slice(0, place).join(' ');

export function useWriting(writer: Writer | undefined, prompt: string, settings: Settings) {
  const [writing, setWriting] = useState<Writing>({ ids: [], place: 0, branches: [], playing: false });
  const [shown, setShown] = useState<{ next: Next; before: string }>(); // and after which tokens
  const [error, setError] = useState<Error>();
  const known = useRef(new Map<string, Promise<Next>>());
  const now = useRef(writing);
  const show = (change: Partial<Writing>) => setWriting((now.current = { ...now.current, ...change }));

  const restart = () => {
    const ids = writer?.ids(prompt) ?? [];
    show({ ids, place: ids.length, branches: [], playing: false });
  };
  useEffect(() => {
    known.current = new Map();
    setShown(undefined);
    setError(undefined);
    restart();
  }, [writer, prompt]);

  /** What follows the first `place` tokens; asked for once. */
  const nextAt = (ids: readonly number[], place: number): Promise<Next> => {
    const key = keyOf(ids, place);
    const found = known.current.get(key) ?? (writer as Writer).next(ids.slice(0, place));
    known.current.set(key, found);
    return found;
  };

  useEffect(() => {
    if (!writer || writing.place === 0) return setShown(undefined);
    let current = true;
    nextAt(writing.ids, writing.place).then(
      (next) => current && setShown({ next, before: keyOf(writing.ids, writing.place) }),
      (reason: Error) => current && setError(reason),
    );
    return () => {
      current = false;
    };
  }, [writer, writing.ids, writing.place]);

  const choose = (alternatives: readonly Alternative[], place: number): number =>
    drawFrom(alternatives, randomAt(now.current.branches.length, place)).id;

  /** Writes one token at the end. */
  const step = async () => {
    const { ids } = now.current;
    if (!writer || ids.length === 0 || ids.length >= kMostTokens) return show({ playing: false });
    try {
      const { logits } = await nextAt(ids, ids.length);
      if (now.current.ids !== ids) return;
      const longer = [...ids, choose(alternativesOf(logits, settings), ids.length)];
      show({ ids: longer, place: longer.length });
    } catch (reason) {
      show({ playing: false });
      setError(reason as Error);
    }
  };

  useEffect(() => {
    if (!writing.playing) return;
    const timer = setTimeout(() => void step(), kPause);
    return () => clearTimeout(timer);
  }, [writing.playing, writing.ids]);

  return {
    writing,
    next: shown?.next,
    /** Whether `next` is still that of another place. */
    stale: shown?.before !== keyOf(writing.ids, writing.place),
    error,
    step,
    restart,
    play: (playing: boolean) => show({ playing }),
    select: (place: number) => show({ place, playing: false }),
    /** Writes another token at the shown place. What stood after it is kept as a branch. */
    branch(id: number) {
      const { ids, place, branches } = now.current;
      if (ids[place] === id) return;
      const left = place < ids.length && !branches.some((other) => other.join() === ids.join()) ? [ids, ...branches] : branches;
      const longer = [...ids.slice(0, place), id];
      show({ ids: longer, place: longer.length, branches: left.slice(0, 6), playing: false });
    },
    /** Back to a branch that was left. */
    take(ids: readonly number[]) {
      const { ids: left, branches } = now.current;
      const others = branches.filter((other) => other !== ids);
      show({ ids, place: ids.length, branches: [left, ...others], playing: false });
    },
  };
}
