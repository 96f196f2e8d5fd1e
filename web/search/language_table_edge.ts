// In place of language_table.ts on the edge, where all that a program imports is uploaded: English, and the other languages if the program imports `wattn/languages`.
import { UnsupportedError } from '../core/errors.js';
import { shared } from '../core/shared.js';
import type { LanguageWords, StemmedLanguage } from './language_names.js';

export async function wordsOf(language: StemmedLanguage): Promise<LanguageWords> {
  if (language === 'en') return import('./languages/en.js');
  const imported = shared.languages?.[language];
  if (!imported)
    throw new UnsupportedError(`language: the words of '${language}' are not in this bundle: import 'wattn/languages', too`);
  return imported() as Promise<LanguageWords>;
}
