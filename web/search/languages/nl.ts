// Dutch: its stemmer and stop words.
export { stemmer as stem } from '@orama/stemmers/dutch';
export { stopwords } from '@orama/stopwords/dutch';
