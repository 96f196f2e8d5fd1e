// What the page says of each experiment before it runs. The code comes from docs/lessons.md, where a test runs it.
import lessons from '../../../docs/lessons.md?raw';

export type LessonId = 'order' | 'scaling' | 'sorting' | 'characters' | 'reversing' | 'batchNorm';

export interface Lesson {
  id: LessonId;
  title: string;
  shows: string;
  /** What the vertical axis shows, and what the horizontal one counts. */
  axis: string;
  steps: number;
  /** Names of its curves, in the order of their colours. */
  series: string[];
  /** The heading in docs/lessons.md. */
  heading: string;
}

export const kLessons: readonly Lesson[] = [
  {
    id: 'order',
    title: 'Does word A come before word B?',
    shows: 'Only positions carry word order. Without them, a classifier can only guess.',
    axis: 'Accuracy by step',
    steps: 60,
    series: ['with positions', 'without positions'],
    heading: 'Does word 1 come before word 2?',
  },
  {
    id: 'scaling',
    title: 'Why scores are divided by √d',
    shows:
      'Dot products of long vectors are large, so softmax gives all the weight to one key and no gradient is left to learn from.',
    axis: 'Gradient by vector length, 1 to 1,024',
    steps: 10,
    series: ['divided by √d', 'not scaled'],
    heading: 'Why scores are scaled',
  },
  {
    id: 'sorting',
    title: 'An encoder learns to sort',
    shows: 'Each output position attends to all five digits and learns which one belongs there.',
    axis: 'Loss by step',
    steps: 200,
    series: ['loss'],
    heading: 'Sorting',
  },
  {
    id: 'characters',
    title: 'A character model that writes',
    shows: 'A decoder that predicts the next character learns a sentence by heart.',
    axis: 'Loss by step',
    steps: 60,
    series: ['loss'],
    heading: 'A character model that writes',
  },
  {
    id: 'reversing',
    title: 'An encoder and a decoder reverse digits',
    shows: 'The decoder reads what it needs from the encoder’s states through cross-attention.',
    axis: 'Loss by step',
    steps: 250,
    series: ['loss'],
    heading: 'Reversing, from an encoder to a decoder',
  },
  {
    id: 'batchNorm',
    title: 'Batch norm over a mini-batch',
    shows: 'Training normalises with the mean of each mini-batch; evaluation uses a running mean that tracks it.',
    axis: 'Mean of the first column by mini-batch',
    steps: 40,
    series: ['running mean', 'mean of the mini-batch'],
    heading: 'Batch norm over a mini-batch',
  },
];

const blockIn = (section: string) => /```js\n([^]*?)```/.exec(section)?.[1] ?? '';

/** Results that the guide shows are printed. */
const printing = (code: string) => code.replace(/^(?!const |let |class |import )(\S.*); (\/\/ => .*)$/gm, 'console.log($1); $2');

/** The whole program of an experiment. */
export function codeOf({ heading }: Lesson): string {
  const [start = '', ...sections] = lessons.split(/^## /m);
  const section = sections.find((each) => each.startsWith(`${heading}\n`)) ?? '';
  return `${blockIn(start)}\n${printing(blockIn(section))}`;
}
