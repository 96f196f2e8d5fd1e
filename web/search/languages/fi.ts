// Finnish: its stemmer and stop words.
export { stemmer as stem } from '@orama/stemmers/finnish';
export { stopwords } from '@orama/stopwords/finnish';
