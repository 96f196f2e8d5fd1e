// Armenian: its stemmer and stop words.
export { stemmer as stem } from '@orama/stemmers/armenian';
export { stopwords } from '@orama/stopwords/armenian';
