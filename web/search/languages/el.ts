// Greek: its stemmer and stop words.
export { stemmer as stem } from '@orama/stemmers/greek';
export { stopwords } from '@orama/stopwords/greek';
