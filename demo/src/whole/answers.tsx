// What the model answers, and models that answer with words: the next one, or a hidden one.
import type { ModelControl } from '../model/use_model.js';
import { kAnswering } from './answering.js';
import type { Facts } from './facts.js';
import { written } from './inner.js';
import type { WeightsState } from './use_whole.js';

interface AnswersProps {
  facts: Facts;
  load: ModelControl['load'];
  /** The word that is followed. */
  followed: string;
  isHidden: boolean;
  onHide: (hidden: boolean) => void;
  /** Adds to the text. */
  onWrite: (more: string) => void;
}

export function Answers({ facts: { kind, run }, load, followed, isHidden, onHide, onWrite }: AnswersProps) {
  return (
    <div class="whole-answers">
      {kind === 'decoder' && run.guesses?.best[0] && (
        <button type="button" class="outline small" onClick={() => onWrite(run.guesses?.best[0]?.piece ?? '')}>
          Write “{run.guesses.best[0].word}”
        </button>
      )}
      {kind === 'masked' && (
        <button type="button" class="outline small" onClick={() => onHide(!isHidden)}>
          {isHidden ? 'Show the hidden word' : `Hide “${followed}”`}
        </button>
      )}
      <details>
        <summary>{kind === 'encoder' ? 'Let a model predict words' : 'Other models that predict words'}</summary>
        <ul>
          {kAnswering.map(({ id, name, size, answers }) => (
            <li key={id}>
              <button type="button" class="secondary outline small" onClick={() => load(id, id)}>
                Load {name}
              </button>{' '}
              <span class="hint">
                {answers}, {size}
              </span>
            </li>
          ))}
        </ul>
        <p class="hint">With “Change model”, you can load any decoder, or any encoder with a masked-language head.</p>
      </details>
    </div>
  );
}

interface WeightsProps {
  state: WeightsState;
  /** What the formulas are of. */
  text: string;
  gap: number | undefined;
  onRead: () => void;
}

/** Whether every number has its formula. */
export function Weights({ state, text, gap, onRead }: WeightsProps) {
  if (state === 'asked')
    return (
      <button type="button" class="secondary outline small whole-weights" onClick={onRead}>
        Load the weights to show all formulas
      </button>
    );
  const says = {
    loading: 'Loading the weights to show a formula for every number…',
    ready: `Click any number to see its formula. Recomputed with these formulas, each layer’s output differs from the model’s by at most ${written(100 * (gap ?? 0), 5)} % of its largest number.`,
    none: 'This model has steps that this page cannot write out, so only attention has formulas.',
  }[state];
  return (
    <p class="hint whole-weights" role="status" data-weights={state} data-text={text}>
      {says}
    </p>
  );
}
