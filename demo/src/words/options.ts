// How word vectors are learned here: skip-gram with negative sampling, for small texts.
export const kWord2Vec = { vector_size: 24, window: 6, epochs: 15, sg: true, alpha: 0.05, lowercase: true } as const;
