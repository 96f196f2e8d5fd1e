// Russian: its stemmer and stop words.
export { stemmer as stem } from '@orama/stemmers/russian';
export { stopwords } from '@orama/stopwords/russian';
