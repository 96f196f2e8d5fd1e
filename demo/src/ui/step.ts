// A step in the browser's history for what opens over the page: Back closes it, and closing it by other ways takes the step back.
import { useEffect, useRef } from 'preact/hooks';
import { readAddress } from './address.js';
import { showInAddress } from './kept.js';

interface HistoryStep {
  enter(): void;
  leave(): void;
}

/** Where the page stands, in the state of an entry of the history. */
interface Marks {
  /** The entry from which this step was entered. */
  under?: number;
  /** The step itself. */
  over?: number;
}

const marksNow = () => (history.state ?? {}) as Marks;

let lastStep = 0;

/**
 * close: called when Back was used. Going back takes a while, and what a person does meanwhile is not lost: the address then follows the page, not
 * the page the address.
 */
export function useHistoryStep(close: () => void): HistoryStep {
  const step = useRef<number | undefined>(undefined);
  const closing = useRef(close);
  closing.current = close;
  useEffect(() => {
    const onPop = () => {
      if (step.current === undefined) return;
      const { under, over } = marksNow();
      if (over === step.current) return history.forward(); // a link was followed before the way back ended: it is the next entry
      if (under !== step.current) return;
      step.current = undefined;
      closing.current();
      showInAddress(readAddress().panel);
    };
    addEventListener('popstate', onPop);
    return () => removeEventListener('popstate', onPop);
  }, []);
  return {
    enter() {
      step.current = ++lastStep;
      history.replaceState({ ...marksNow(), under: step.current }, '');
      history.pushState({ over: step.current }, '');
    },
    leave() {
      if (step.current !== undefined && marksNow().over === step.current) history.back();
    },
  };
}
