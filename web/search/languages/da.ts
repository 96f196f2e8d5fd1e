// Danish: its stemmer and stop words.
export { stemmer as stem } from '@orama/stemmers/danish';
export { stopwords } from '@orama/stopwords/danish';
