// German: its stemmer and stop words.
export { stemmer as stem } from '@orama/stemmers/german';
export { stopwords } from '@orama/stopwords/german';
