// Arabic: its stemmer and stop words.
export { stemmer as stem } from '@orama/stemmers/arabic';
export { stopwords } from '@orama/stopwords/arabic';
