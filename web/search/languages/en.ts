// English: its stemmer and stop words.
import { stopwords as listed } from '@orama/stopwords/english';

export { stem } from 'porter2';
/** The list lacks the article. */
export const stopwords: readonly string[] = [...listed, 'a'];
