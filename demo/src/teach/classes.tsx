// The classes and their examples, to be edited.
import { plural } from '../ui/format.js';
import { linesOf, type Taught } from './use_classifier.js';

/**
 * Labels that do not follow the nouns: each thing occurs in all three, so frozen vectors, which know things best, confuse them. The last third of each
 * is held back, and is about other things in each label.
 */
const kExamples = {
  'to do': [
    'Please send me the report by Friday.',
    'Pay the invoice for the lamps today.',
    'Bring the keys to the office.',
    'Could you bake a cake for the party?',
    'Sign the contract and send it back.',
    'We need you to print the photos.',
    'Can you buy the tickets for the concert?',
    'Carry the boxes up to the attic.',
    'Someone has to wash the car.',
    'The website needs a new picture, please add one.',
    'Water the garden while we are away.',
    'You should book the room for the meeting.',
  ],
  promised: [
    'You will get the signed contract next week.',
    'I promise to print the photos tonight.',
    'He said he would buy the tickets for the concert.',
    'We will carry the boxes up on Sunday.',
    'I shall wash the car after lunch.',
    'A new picture will be on the website soon.',
    'Do not worry, I will water the garden.',
    'I am about to book the room for the meeting.',
    'I will send you the report by Friday.',
    'We are going to pay the invoice for the lamps.',
    'I am bringing the keys to the office tomorrow.',
    'My sister wants to bake the cake for the party.',
  ],
  done: [
    'The car is clean again.',
    'There is a new picture on the website.',
    'We watered the garden this morning.',
    'The room for the meeting is booked.',
    'I sent you the report on Friday.',
    'The invoice for the lamps has been paid.',
    'She left the keys at the office.',
    'The cake for the party is in the fridge.',
    'Both of us signed the contract.',
    'The photos are printed and in the drawer.',
    'I bought the tickets for the concert.',
    'All boxes are in the attic now.',
  ],
};

export const exampleClasses = (): Taught[] =>
  Object.entries(kExamples).map(([name, lines]) => ({ name, examples: lines.join('\n') }));

/** Whether nobody has edited the examples. */
export const areExamples = (classes: readonly Taught[]): boolean => JSON.stringify(classes) === JSON.stringify(exampleClasses());

const kMost = 8;

const isText = (value: unknown) => typeof value === 'string';
export const areClasses = (value: unknown): value is Taught[] =>
  Array.isArray(value) && value.length <= kMost && value.every((one) => isText(one?.name) && isText(one?.examples));

export function Classes({ classes, onChange }: { classes: Taught[]; onChange: (classes: Taught[]) => void }) {
  const change = (at: number, part: Partial<Taught>) =>
    onChange(classes.map((taught, i) => (i === at ? { ...taught, ...part } : taught)));
  return (
    <div class="classes">
      {classes.map((taught, i) => (
        <fieldset key={i}>
          <legend class="visually-hidden">Class {i + 1}</legend>
          <div class="class-head">
            <input
              value={taught.name}
              aria-label={`Name of class ${i + 1}`}
              autocomplete="off"
              onInput={(event) => change(i, { name: event.currentTarget.value })}
            />
            <span class="hint">{plural(linesOf(taught).length, 'example')}</span>
            <button
              type="button"
              class="icon"
              aria-label={`Remove class ${taught.name || i + 1}`}
              disabled={classes.length <= 2}
              onClick={() => onChange(classes.filter((_, k) => k !== i))}
            >
              <svg viewBox="0 0 24 24" aria-hidden="true">
                <path d="M6 6l12 12M18 6 6 18" />
              </svg>
            </button>
          </div>
          <textarea
            rows={6}
            value={taught.examples}
            aria-label={`Examples of ${taught.name || `class ${i + 1}`}, one per line`}
            onInput={(event) => change(i, { examples: event.currentTarget.value })}
          />
        </fieldset>
      ))}
      <button
        type="button"
        class="secondary outline small"
        disabled={classes.length >= kMost}
        onClick={() => onChange([...classes, { name: '', examples: '' }])}
      >
        Add a class
      </button>
    </div>
  );
}
