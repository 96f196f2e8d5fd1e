// Hungarian: its stemmer and stop words.
export { stemmer as stem } from '@orama/stemmers/hungarian';
export { stopwords } from '@orama/stopwords/hungarian';
