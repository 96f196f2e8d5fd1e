// Indonesian: its stemmer and stop words.
export { stemmer as stem } from '@orama/stemmers/indonesian';
export { stopwords } from '@orama/stopwords/indonesian';
