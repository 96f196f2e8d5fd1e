// Hindi: its stemmer and stop words.
export { stemmer as stem } from '@orama/stemmers/indian';
export { stopwords } from '@orama/stopwords/indian';
