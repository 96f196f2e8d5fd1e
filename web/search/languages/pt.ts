// Portuguese: its stemmer and stop words.
export { stemmer as stem } from '@orama/stemmers/portuguese';
export { stopwords } from '@orama/stopwords/portuguese';
