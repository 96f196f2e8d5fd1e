// Lithuanian: its stemmer and stop words.
export { stemmer as stem } from '@orama/stemmers/lithuanian';
export { stopwords } from '@orama/stopwords/lithuanian';
