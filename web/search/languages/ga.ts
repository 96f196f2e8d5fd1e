// Irish: its stemmer and stop words.
export { stemmer as stem } from '@orama/stemmers/irish';
export { stopwords } from '@orama/stopwords/irish';
