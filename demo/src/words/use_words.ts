// The word vectors of the panel: learned beside the page, anew when their text changes.
import { WordVectors } from 'wattn';
import { useEffect, useState } from 'preact/hooks';
import { beside } from '../beside/beside.js';
import type { Trained } from './words_task.js';

export type WordsState =
  { kind: 'training'; percent: number } | { kind: 'stopped'; error?: Error } | { kind: 'ready'; vectors: WordVectors; ms: number };

const kFewWords = 5000; // a text with fewer: every word counts

/** round: another number trains again. */
export function useWords(text: string, round: number) {
  const [state, setState] = useState<WordsState>({ kind: 'training', percent: 0 });
  const [stop, setStop] = useState<() => void>(() => () => {});
  useEffect(() => {
    let current = true;
    const show = (next: WordsState) => current && setState(next);
    show({ kind: 'training', percent: 0 });
    const start = performance.now();
    const minCount = text.split(/\s+/).length < kFewWords ? 1 : 3;
    const work = beside<Trained>('words', { text, minCount }, (percent: number) => show({ kind: 'training', percent }));
    work.done
      .then(
        ({ words, vectors, size }) =>
          show({ kind: 'ready', vectors: new WordVectors(words, vectors, size), ms: performance.now() - start }),
        (error: Error) => show({ kind: 'stopped', error }),
      )
      .finally(work.stop);
    setStop(() => () => {
      work.stop();
      show({ kind: 'stopped' });
      current = false;
    });
    return () => {
      current = false;
      work.stop();
    };
  }, [round]);
  return { state, stop };
}
