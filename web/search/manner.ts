// Says how an index reads words, so that what one has read and stored serves the next one that is opened.
import { Sha256 } from '../source/sha256.js';

/** Raised by a change of words.ts or of a stemmer by which a text has other words: then those that indexes have stored are read again (tests/web/search_words.test.ts). */
const kReading = 1;

function hashOf(words: readonly string[]): string {
  const hash = new Sha256();
  hash.update(new TextEncoder().encode(words.join('\n')));
  return hash.hex();
}

/** language: of which the stems are; undefined: words are their own stems. */
export const mannerOf =
  (language: string | undefined) =>
  (stopwords: ReadonlySet<string>): string =>
    JSON.stringify([kReading, language ?? null, stopwords.size > 0 ? hashOf([...stopwords].sort()) : null]);
