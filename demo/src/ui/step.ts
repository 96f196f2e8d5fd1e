// A step in the browser's history for what opens over the page: Back closes it, and closing it by other ways takes the step back.
import { useEffect, useRef } from 'preact/hooks';
import { readAddress } from './address.js';
import { showInAddress } from './kept.js';

interface HistoryStep {
  enter(): void;
  leave(): void;
}

interface Step {
  number: number;
  /** Whether the step is being taken back, which takes a while. */
  isLeaving: boolean;
  /** The address of a link that was followed meanwhile. */
  followed?: string;
}

/** In the state of an entry of the history: the step that was entered from it, or that it is. */
interface Marks {
  under?: number;
  over?: number;
}

const marksNow = () => (history.state ?? {}) as Marks;

let lastStep = 0;

/** close: called when Back was used. What a person does until the step is taken back is not lost: then the address follows the page. */
export function useHistoryStep(close: () => void): HistoryStep {
  const step = useRef<Step | undefined>(undefined);
  const closing = useRef(close);
  closing.current = close;
  useEffect(() => {
    const onPop = () => {
      const { current } = step;
      if (!current) return;
      const { under, over } = marksNow();
      const { number, isLeaving, followed } = current;
      if (over === number) return isLeaving ? history.back() : undefined; // some browsers go back from the link's entry instead
      if (under !== number && isLeaving) return void (current.followed = location.hash);
      step.current = undefined;
      closing.current();
      if (under === number) showInAddress(readAddress().panel);
      if (followed !== undefined) location.hash = followed;
    };
    addEventListener('popstate', onPop);
    return () => removeEventListener('popstate', onPop);
  }, []);
  return {
    enter() {
      step.current = { number: ++lastStep, isLeaving: false };
      history.replaceState({ ...marksNow(), under: lastStep }, '');
      history.pushState({ over: lastStep }, '');
    },
    leave() {
      if (!step.current || marksNow().over !== step.current.number) return;
      step.current.isLeaving = true;
      history.back();
    },
  };
}
