// Romanian: its stemmer and stop words.
export { stemmer as stem } from '@orama/stemmers/romanian';
export { stopwords } from '@orama/stopwords/romanian';
