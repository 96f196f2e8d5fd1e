// The story: its steps and its texts.
export const kScenes = ['Letters', 'Tokens', 'Vectors', 'Query and keys', 'Softmax', 'Mix', 'Layer by layer', 'Meaning'] as const;

export const kText = 'The cat sat on the mat because it was hungry.';
export const kOther = 'The cat sat on the mat because it was warm.';

/** Pairs to try: the model need not tell them apart. */
export const kPairs: readonly (readonly [name: string, text: string, other: string])[] = [
  ['hungry or warm', kText, kOther],
  ['tired or soft', 'The cat sat on the mat because it was tired.', 'The cat sat on the mat because it was soft.'],
  [
    'too tired or too wide',
    'The animal did not cross the street because it was too tired.',
    'The animal did not cross the street because it was too wide.',
  ],
  [
    'too big or too small',
    'The trophy did not fit in the suitcase because it was too big.',
    'The trophy did not fit in the suitcase because it was too small.',
  ],
];

/** What the sentence is compared with at the end. */
export const kOthers = [
  'A sleepy kitten lay down on the rug.',
  'The dog chased a ball across the park.',
  'The central bank raised interest rates again.',
];
