// Norwegian: its stemmer and stop words.
export { stemmer as stem } from '@orama/stemmers/norwegian';
export { stopwords } from '@orama/stopwords/norwegian';
