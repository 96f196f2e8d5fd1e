// The text beside the picture: steps that move with it. Scrolling drives them where a person did not ask for less motion.
import { useEffect, useRef, useState } from 'preact/hooks';
import { isStill } from '../ui/glide.js';
import { oneOf, useKept } from '../ui/kept.js';
import type { PathStep } from './path.js';

const kPause = 5000; // ms for each step while it plays
const kMostSteps = 12;

export interface Path {
  step: number;
  /** Whether somebody has gone along the path: until then the picture stays where it is. */
  isChosen: boolean;
  playing: boolean;
  go(step: number): void;
  stop(): void;
  toggle(): void;
}

/** count: of steps. ready: whether there is something to play. */
export function usePath(count: number, ready: boolean): Path {
  const [kept, setKept] = useKept('whole.step', () => '0', oneOf(Array.from({ length: kMostSteps }, (_, i) => String(i))));
  const [isChosen, setChosen] = useState(false);
  const [playing, setPlaying] = useState(false);
  const last = Math.max(0, count - 1);
  const step = Math.min(Number(kept), last);
  const show = (next: number) => {
    setChosen(true);
    setKept(String(Math.max(0, Math.min(last, next))));
  };
  useEffect(() => {
    if (!playing || !ready) return;
    if (step === last) return setPlaying(false);
    const timer = setTimeout(() => show(step + 1), kPause);
    return () => clearTimeout(timer);
  }, [playing, ready, step, last]);
  const stop = () => {
    setPlaying(false);
    setChosen(false);
  };
  return {
    step,
    isChosen,
    playing,
    go(next) {
      setPlaying(false);
      show(next);
    },
    stop,
    toggle() {
      if (!playing) show(step === last ? 0 : step + 1);
      setPlaying(!playing);
    },
  };
}

interface PathTextProps {
  steps: readonly PathStep[];
  path: Path;
  /** Where there are no steps. */
  says: string;
}

export function PathText({ steps, path, says }: PathTextProps) {
  const list = useRef<HTMLOListElement>(null);
  const { step } = path;
  // What is shown stands in sight; the list scrolls, never the page.
  useEffect(() => {
    const own = list.current;
    const shown = own?.children[step] as HTMLElement | undefined;
    if (own && shown) own.scrollTop = shown.offsetTop;
  }, [step, steps.length]);
  const onScroll = () => {
    const own = list.current;
    if (!own || isStill()) return;
    const top = own.scrollTop + own.clientHeight * 0.35;
    const at = [...own.children].filter((one) => (one as HTMLElement).offsetTop <= top).length - 1;
    if (at >= 0 && at !== step) path.go(at);
  };
  if (steps.length === 0)
    return (
      <p class="whole-empty" role="status">
        {says}
      </p>
    );
  return (
    <>
      <ol class="whole-path" ref={list} tabIndex={0} aria-label="A path through the picture" onScrollEnd={onScroll}>
        {steps.map(({ title, text }, i) => (
          <li key={i} aria-current={i === step ? 'step' : undefined}>
            <button type="button" class="whole-link" onClick={() => path.go(i)}>
              <span class="number">{i + 1}</span> {title}
            </button>
            <p>{text}</p>
          </li>
        ))}
      </ol>
      <div class="whole-controls">
        <button type="button" class="secondary outline" disabled={step === 0} onClick={() => path.go(step - 1)}>
          Back
        </button>
        <button type="button" aria-pressed={path.playing} onClick={path.toggle}>
          {path.playing ? 'Pause' : 'Play'}
        </button>
        <button type="button" class="secondary outline" disabled={step === steps.length - 1} onClick={() => path.go(step + 1)}>
          Next
        </button>
      </div>
      <p class="visually-hidden" aria-live={path.playing ? 'off' : 'polite'}>
        {path.isChosen && `${steps[step]?.title}: ${steps[step]?.text}`}
      </p>
    </>
  );
}
