// Which exercises there are, in their order, and where each panel's own one is: known before their code is loaded.

export const kExercises = [
  ['dot', 'Dot products'],
  ['softmax', 'Softmax'],
  ['query', 'Queries and keys'],
  ['heads', 'Heads'],
  ['positions', 'Positions'],
  ['block', 'A block'],
  ['training', 'Training'],
] as const;

export type ExerciseId = (typeof kExercises)[number][0];

/** The exercise that goes with a panel. */
export const kOfPanel: Readonly<Record<string, ExerciseId>> = {
  story: 'query',
  whole: 'block',
  attention: 'heads',
  tokens: 'query',
  positions: 'positions',
  about: 'block',
  search: 'dot',
  map: 'dot',
  compare: 'dot',
  words: 'dot',
  teach: 'training',
  classify: 'softmax',
  write: 'softmax',
  lessons: 'training',
};

/** 'Softmax' */
export const titleOf = (id: ExerciseId): string => kExercises.find(([one]) => one === id)?.[1] ?? '';
