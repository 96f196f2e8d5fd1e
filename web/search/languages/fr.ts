// French: its stemmer and stop words.
export { stemmer as stem } from '@orama/stemmers/french';
export { stopwords } from '@orama/stopwords/french';
