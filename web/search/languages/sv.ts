// Swedish: its stemmer and stop words.
export { stemmer as stem } from '@orama/stemmers/swedish';
export { stopwords } from '@orama/stopwords/swedish';
