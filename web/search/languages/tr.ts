// Turkish: its stemmer and stop words.
export { stemmer as stem } from '@orama/stemmers/turkish';
export { stopwords } from '@orama/stopwords/turkish';
