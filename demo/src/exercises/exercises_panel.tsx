// Panel: a lesson to hold, as exercises one after the other. The page checks each answer against what the model computed.
import './exercises.css';
import { useEffect, useRef, useState } from 'preact/hooks';
import { openDoor, type Inside } from '../attention/use_inside.js';
import type { PanelProps } from '../panel.js';
import { oneOf, useKept } from '../ui/kept.js';
import { Problem } from '../ui/lazy.js';
import { isRight, makeExercises, readNumber, rightAnswer, type Exercise } from './exercises.js';
import { kExercises, type ExerciseId } from './list.js';

const kSentence = 'The cat sat on the mat because it was tired.';
const kTypingMs = 250;

/** What was made of a sentence, anew shortly after each change. */
function useExercises({ model, options }: PanelProps, text: string) {
  const [made, setMade] = useState<{ exercises?: Exercise[]; inside?: Inside; error?: Error }>({});
  const door = useRef<ReturnType<typeof openDoor> | undefined>(undefined);
  useEffect(() => {
    const opening = (door.current = openDoor(model.source));
    return () => void opening.then((opened) => opened.dispose()).catch(() => {});
  }, []);
  useEffect(() => {
    if (text.trim() === '') return;
    let stale = false;
    const make = async () => {
      const opened = await (door.current as ReturnType<typeof openDoor>);
      const inside = await opened.run({ text, pair: '', off: new Set() });
      const exercises = await makeExercises({ inside, embed: model.embed, options });
      if (!stale) setMade({ exercises, inside });
    };
    const timer = setTimeout(() => void make().catch((error: Error) => !stale && setMade({ error })), kTypingMs);
    return () => {
      stale = true;
      clearTimeout(timer);
    };
  }, [text]);
  return made;
}

export function ExercisesPanel(props: PanelProps) {
  const [text, setText] = useKept('exercises.text', () => kSentence);
  const [at, setAt] = useKept<ExerciseId>('exercises.at', () => 'dot', oneOf(kExercises.map(([id]) => id)));
  const [solved, setSolved] = useKept<readonly ExerciseId[]>('exercises.solved', () => []);
  const { exercises, error } = useExercises(props, text);
  const heading = useRef<HTMLHeadingElement>(null);
  const number = kExercises.findIndex(([id]) => id === at);
  const go = (next: ExerciseId) => {
    setAt(next);
    heading.current?.focus();
  };
  const exercise = exercises?.[number];
  return (
    <div class="exercises">
      <article class="panel" aria-labelledby="exercises-title">
        <h2 id="exercises-title">Exercises</h2>
        <p class="hint">
          Seven questions, from dot products to training. Work out each answer, then let the page check it. The numbers come from
          the loaded model and this sentence.
        </p>
        <label for="exercises-text">Sentence</label>
        <input id="exercises-text" value={text} autocomplete="off" onInput={(event) => setText(event.currentTarget.value)} />
        <ol class="exercise-names" aria-label="Exercises">
          {kExercises.map(([id, name], i) => (
            <li key={id}>
              <button
                type="button"
                class={id === at ? 'is-on' : solved.includes(id) ? 'is-solved' : ''}
                aria-current={id === at ? 'step' : undefined}
                onClick={() => go(id)}
              >
                {i + 1}. {name}
                {solved.includes(id) && <span> ✓</span>}
                {solved.includes(id) && <span class="visually-hidden"> solved</span>}
              </button>
            </li>
          ))}
        </ol>
        <p class="timing" role="status">
          {solved.length === kExercises.length ? 'All seven are solved.' : `${solved.length} of ${kExercises.length} solved.`}
        </p>
      </article>
      <article class="panel exercise" aria-labelledby="exercise-title" data-exercise={exercise?.id}>
        <h2 id="exercise-title" ref={heading} tabIndex={-1}>
          {number + 1}. {kExercises[number]?.[1]}
        </h2>
        {error && <Problem error={error} />}
        {!exercise && !error && <p class="hint">{text.trim() === '' ? 'Type a sentence.' : 'The model reads the sentence…'}</p>}
        {exercise && (
          <Question
            key={`${exercise.id} ${exercise.asks}`}
            exercise={exercise}
            onSolved={() => !solved.includes(exercise.id) && setSolved([...solved, exercise.id])}
          />
        )}
        <p class="exercise-ways">
          {number > 0 && (
            <button type="button" class="secondary outline small" onClick={() => go(kExercises[number - 1]?.[0] ?? 'dot')}>
              Back
            </button>
          )}
          {number + 1 < kExercises.length && (
            <button type="button" class="secondary small" onClick={() => go(kExercises[number + 1]?.[0] ?? 'dot')}>
              Next
            </button>
          )}
        </p>
      </article>
    </div>
  );
}

type Verdict = 'right' | 'wrong' | 'unread' | 'told';

function Question({ exercise, onSolved }: { exercise: Exercise; onSolved: () => void }) {
  const [given, setGiven] = useState('');
  const [verdict, setVerdict] = useState<Verdict>();
  const { rule, asks, answer, hint, because, model, see } = exercise;
  const check = (event: Event) => {
    event.preventDefault();
    const number = 'choice' in answer ? (given === '' ? undefined : Number(given)) : readNumber(given);
    if (number === undefined) return setVerdict('unread');
    const right = isRight(exercise, number);
    setVerdict(right ? 'right' : 'wrong');
    if (right) onSolved();
  };
  const change = (value: string) => {
    setGiven(value);
    setVerdict(undefined);
  };
  const isOpen = verdict !== 'right' && verdict !== 'told';
  return (
    <form onSubmit={check}>
      <p>{rule}</p>
      <Numbers exercise={exercise} />
      {'choice' in answer ? (
        <fieldset class="exercise-choices">
          <legend>{asks}</legend>
          {answer.choices.map((choice, i) => (
            <label key={choice} class={given === String(i) ? 'is-on' : undefined}>
              <input
                type="radio"
                class="visually-hidden"
                name="answer"
                checked={given === String(i)}
                onChange={() => change(String(i))}
              />
              {choice}
            </label>
          ))}
        </fieldset>
      ) : (
        <label>
          {asks}
          <span class="exercise-number">
            <input
              inputMode="decimal"
              autocomplete="off"
              aria-label="Your answer"
              value={given}
              onInput={(event) => change(event.currentTarget.value)}
            />
            {answer.unit}
          </span>
        </label>
      )}
      <p class="exercise-ways">
        <button type="submit">Check</button>
        {isOpen && (
          <button type="button" class="secondary outline" onClick={() => setVerdict('told')}>
            Show the answer
          </button>
        )}
      </p>
      <div role="status" class="exercise-verdict" data-verdict={verdict}>
        {verdict === 'unread' && <p class="warning">{'choice' in answer ? 'Choose one.' : 'Type a number, such as 1.5.'}</p>}
        {verdict === 'wrong' && (
          <p>
            <strong>Not yet.</strong> {hint}
          </p>
        )}
        {!isOpen && (
          <>
            <p>
              <strong>
                {verdict === 'right' ? 'Right' : 'The answer'}: {rightAnswer(exercise)}.
              </strong>{' '}
              {because}
            </p>
            <p>
              {model} <a href={see[0]}>See it: {see[1]}</a>
            </p>
          </>
        )}
      </div>
    </form>
  );
}

function Numbers({ exercise: { given, columns } }: { exercise: Exercise }) {
  if (given.length === 0) return null;
  return (
    <div class="matrix-scroll" tabIndex={0} role="region" aria-label="Given numbers">
      <table class="exercise-given">
        {columns && (
          <thead>
            <tr>
              <td />
              {columns.map((column, i) => (
                <th key={i} scope="col">
                  {column}
                </th>
              ))}
            </tr>
          </thead>
        )}
        <tbody>
          {given.map(({ name, numbers }) => (
            <tr key={name}>
              <th scope="row">{name}</th>
              {numbers.map((number, i) => (
                <td key={i}>{number}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
