// The story: its steps and its texts.
export const kScenes = ['Letters', 'Tokens', 'Vectors', 'Query and keys', 'Softmax', 'Mix', 'Layer by layer', 'Meaning'] as const;

export const kText = 'The cat sat on the mat because it was tired.';

/** What the sentence is compared with at the end. */
export const kOthers = [
  'A sleepy kitten lay down on the rug.',
  'The dog chased a ball across the park.',
  'The central bank raised interest rates again.',
];
