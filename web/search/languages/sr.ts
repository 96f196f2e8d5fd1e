// Serbian: its stemmer and stop words.
export { stemmer as stem } from '@orama/stemmers/serbian';
export { stopwords } from '@orama/stopwords/serbian';
