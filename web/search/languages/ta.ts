// Tamil: its stemmer and stop words.
export { stemmer as stem } from '@orama/stemmers/tamil';
export { stopwords } from '@orama/stopwords/tamil';
