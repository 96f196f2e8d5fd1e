// Italian: its stemmer and stop words.
export { stemmer as stem } from '@orama/stemmers/italian';
export { stopwords } from '@orama/stopwords/italian';
