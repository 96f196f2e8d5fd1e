// Spanish: its stemmer and stop words.
export { stemmer as stem } from '@orama/stemmers/spanish';
export { stopwords } from '@orama/stopwords/spanish';
