// The classes and their examples, to be edited.
import { plural } from '../ui/format.js';
import { linesOf, type Taught } from './use_classifier.js';

const kExamples = {
  delivery: [
    'Where is my parcel?',
    'The package has not arrived yet.',
    'How long does shipping take?',
    'When will my order be delivered?',
    'The delivery is late.',
    'Can you ship it to another address?',
  ],
  account: [
    'I forgot my password.',
    'How do I change my password?',
    'I cannot log in to my account.',
    'Please delete my account.',
    'My login does not work.',
    'The site does not know my user name.',
  ],
  refund: [
    'I want my money back.',
    'The lamp came broken, I want a refund.',
    'You charged me twice for the same thing.',
    'When will I get the refund?',
    'How do I return it and get the money?',
    'Give me back what I paid.',
  ],
};

export const exampleClasses = (): Taught[] =>
  Object.entries(kExamples).map(([name, lines]) => ({ name, examples: lines.join('\n') }));

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
