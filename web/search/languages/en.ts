// English: its stemmer and stop words.
export { stem } from 'porter2';
export { stopwords } from '@orama/stopwords/english';
