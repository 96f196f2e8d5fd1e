// Nepali: its stemmer and stop words.
export { stemmer as stem } from '@orama/stemmers/nepali';
export { stopwords } from '@orama/stopwords/nepali';
