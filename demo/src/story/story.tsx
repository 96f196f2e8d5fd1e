// Panel: the way of one sentence from letters to meaning, step by step, in the numbers of the page's model.
import './story.css';
import type { EmbedOptions } from 'wattn';
import { useEffect, useRef, useState } from 'preact/hooks';
import type { ReadyModel } from '../model/use_model.js';
import { glide } from '../ui/glide.js';
import { useKept } from '../ui/kept.js';
import { Problem } from '../ui/lazy.js';
import { stepInRow } from '../ui/roving.js';
import { isForeign } from '../model/foreign.js';
import { Foreign, ModelCard } from '../model/model_card.js';
import type { ModelControl } from '../model/use_model.js';
import { captionOf } from './captions.js';
import { Contrast, Evidence, Verdict } from './contrast.js';
import { Doors } from './doors.js';
import { Layers, Nearness } from './ending.js';
import { Letters, TokenTiles } from './letters.js';
import { OpenedNumber, type Opened } from './opened.js';
import { Rows, type RowStep } from './rows.js';
import { kOther, kPairs, kScenes, kText } from './scenes.js';
import { Share } from './share.js';
import { useMeaning, useTold, type Told } from './use_story.js';

interface StoryProps {
  model?: ReadyModel;
  options: EmbedOptions;
  /** Loads another model. */
  load: ModelControl['load'];
  /** Whether this is the panel that is seen; out of sight, nothing plays. */
  shown: boolean;
}

const kRowSteps: Partial<Record<number, RowStep>> = { 2: 'vectors', 3: 'scores', 4: 'softmax', 5: 'mix' };
const kPause = 4500; // ms for each step while it plays
const kLast = kScenes.length - 1;

export function StoryPanel({ model, options, load, shown }: StoryProps) {
  const [text, setText] = useKept('story.text', () => kText);
  const [other, setOther] = useKept('story.other', () => kOther);
  const [step, setStep] = useKept('story.step', () => '0');
  const [picked, setPicked] = useState<number>();
  const [opened, setOpened] = useState<Opened>();
  const { told, error } = useTold(model, text, other, picked);
  const meaning = useMeaning(model, options, text);
  const scene = Math.max(-1, Math.min(kLast, (Math.round(Number(step)) || 0) - 1));
  const go = (next: number) => glide('token', () => setStep(String(Math.max(-1, Math.min(kLast, next)) + 1)));
  const player = usePlayer({ scene, go, ready: told !== undefined && shown });
  const choose = (next: number) => {
    player.stop();
    setOpened(undefined);
    go(next);
  };
  const rows = kRowSteps[scene];
  const open = (next: Opened) => {
    player.stop();
    setOpened(next);
  };
  const pick = (token: number) => {
    player.stop();
    setOpened(undefined);
    setPicked(token);
  };
  const write = (next: string, beside?: string) => {
    setPicked(undefined);
    setOpened(undefined);
    setText(next);
    if (beside !== undefined) setOther(beside);
  };
  const isEmpty = text.trim() === '';
  const foreign = told && isForeign(text, told.inside.tokens.length, told.inside.unknown);
  return (
    <>
      <article class="panel story" aria-labelledby="story-title">
        <h2 id="story-title">{scene < 0 ? 'Where does attention look?' : 'Watch a transformer read your sentence'}</h2>
        {scene >= 0 && (
          <p class="hint">A real model, running in this page. Every number is real: click one to see how it was computed.</p>
        )}
        <label class="visually-hidden" for="story-text">
          Your sentence
        </label>
        <textarea
          id="story-text"
          class="story-input"
          rows={1}
          value={text}
          autocomplete="off"
          onFocus={player.stop}
          onInput={(event) => write(event.currentTarget.value.replace(/\n/g, ' '))}
        />
        {model && !isEmpty && foreign && <Foreign model={model} load={load} />}
        {scene < 0 ? (
          <Overview
            told={told}
            isEmpty={isEmpty}
            isForeign={foreign === true}
            onPick={pick}
            onNext={() => choose(0)}
            {...(error && { error })}
          />
        ) : (
          <>
            <StepList scene={scene} onChoose={choose} />
            <div class="story-controls">
              <button type="button" class="secondary outline" onClick={() => choose(scene - 1)}>
                Back
              </button>
              <button type="button" class="outline" aria-pressed={player.playing} onClick={player.toggle} disabled={!told}>
                {player.playing ? 'Pause' : 'Play'}
              </button>
              <button type="button" disabled={scene === kLast} onClick={() => choose(scene + 1)}>
                Next
              </button>
            </div>
            <p class="story-caption" aria-live={player.playing ? 'off' : 'polite'}>
              {isEmpty ? 'Write a sentence.' : captionOf(scene, text, told, meaning)}
            </p>
            {error && scene > 0 && <Problem error={error} />}
            <div class="story-stage" key={scene} data-scene={scene}>
              {scene === 0 && <Letters text={text} />}
              {scene === 1 && told && <TokenTiles told={told} onOpen={open} />}
              {rows && told && <Rows told={told} step={rows} onOpen={open} onPick={pick} />}
              {scene === 6 && told && <Layers told={told} onOpen={open} onPick={pick} />}
              {scene === 7 && !isEmpty && <Nearness meaning={meaning} onOpen={open} />}
            </div>
          </>
        )}
        {opened && told && (
          <OpenedNumber opened={opened} told={told} meaning={meaning} text={text} onClose={() => setOpened(undefined)} />
        )}
        {scene < 0 && (
          <div class="story-pairs">
            <label for="story-other">Compared with</label>
            <input
              id="story-other"
              value={other}
              autocomplete="off"
              placeholder="The same sentence with one word changed"
              onInput={(event) => setOther(event.currentTarget.value)}
            />
            {kPairs.map(([name, first, second]) => (
              <button
                key={name}
                type="button"
                class="secondary outline small"
                aria-pressed={text === first && other === second}
                onClick={() => write(first, second)}
              >
                {name}
              </button>
            ))}
          </div>
        )}
        {scene < 0 && told && <Evidence told={told} />}
        {model && <ModelCard model={model} />}
        {told && <Share told={told} text={text} options={options} {...(model && { model })} />}
      </article>
      <Doors />
    </>
  );
}

interface OverviewProps {
  told: Told | undefined;
  isEmpty: boolean;
  /** Whether nothing should be claimed, because the model does not read this text. */
  isForeign: boolean;
  error?: Error;
  onPick: (token: number) => void;
  onNext: () => void;
}

/** The first screen: what it says, the picture, and one button. */
function Overview({ told, isEmpty, isForeign: isOther, error, onPick, onNext }: OverviewProps) {
  return (
    <div class="story-overview">
      <p class="story-verdict" role="status">
        {isEmpty ? (
          'Write a sentence.'
        ) : isOther ? (
          'So nothing is claimed here.'
        ) : told ? (
          <Verdict told={told} />
        ) : (
          'Loading the model…'
        )}
      </p>
      {error && !isEmpty && <Problem error={error} />}
      <div class="story-picture">{told && <Contrast told={told} onPick={onPick} />}</div>
      <button type="button" class="story-next" onClick={onNext} disabled={isEmpty}>
        How does it work? Step by step
      </button>
      <a class="story-whole" href="#whole">
        Or see the whole model in one picture
      </a>
    </div>
  );
}

function StepList({ scene, onChoose }: { scene: number; onChoose: (scene: number) => void }) {
  const list = useRef<HTMLOListElement>(null);
  const move = (event: KeyboardEvent) => {
    const next = stepInRow(event.key, scene, kScenes.length);
    if (next === undefined) return;
    event.preventDefault();
    onChoose(next);
    list.current?.querySelectorAll('button')[next]?.focus();
  };
  return (
    <ol class="story-steps" aria-label="Steps" ref={list} onKeyDown={move}>
      {kScenes.map((name, i) => (
        <li key={name}>
          <button
            type="button"
            class={i === scene ? 'is-on' : i < scene ? 'is-done' : ''}
            aria-current={i === scene ? 'step' : undefined}
            tabIndex={i === scene ? 0 : -1}
            onClick={() => onChoose(i)}
          >
            <span class="number">{i + 1}</span> <span class="story-step-name">{name}</span>
          </button>
        </li>
      ))}
    </ol>
  );
}

interface PlayerProps {
  scene: number;
  go: (scene: number) => void;
  /** Whether there is something to play, in sight. */
  ready: boolean;
}

function usePlayer({ scene, go, ready }: PlayerProps) {
  const [playing, setPlaying] = useState(false);
  useEffect(() => {
    if (!playing || !ready) return;
    if (scene === kLast) return setPlaying(false);
    const timer = setTimeout(() => go(scene + 1), kPause);
    return () => clearTimeout(timer);
  }, [playing, ready, scene]);
  return {
    playing,
    stop: () => setPlaying(false),
    toggle: () => {
      if (!playing && scene === kLast) go(0);
      setPlaying(!playing);
    },
  };
}
