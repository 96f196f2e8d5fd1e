// Stemmers (Snowball's algorithms) and stop words of languages, each in a file of its own that is loaded when it is used.
import { InputError } from '../core/errors.js';
import { isStemmed, kLanguageNames, type LanguageWords } from './language_names.js';
import { wordsOf } from './language_table.js';
import { Analyser } from './words.js';

/** Stop words as texts are cut: of "don't", the "t". */
export function cutStopwords(stopwords: readonly string[]): ReadonlySet<string> {
  const asWritten = new Analyser({});
  return new Set(
    stopwords.flatMap((text) => {
      const words = [...asWritten.batches(text)].flat().map(({ term }) => term);
      return words.length === 1 ? words : words.filter((word) => word.length <= 2);
    }),
  );
}

/** Loads a language. where: the option that names it, for messages. */
export async function loadLanguage(where: string, language: string): Promise<LanguageWords> {
  if (!isStemmed(language)) throw new InputError(`${where}: expected one of ${kLanguageNames.join(', ')}, found '${language}'`);
  return wordsOf(language);
}
