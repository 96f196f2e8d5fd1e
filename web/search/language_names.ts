// The languages with a stemmer (Snowball's algorithms) and stop words.

/** What is known of a language. */
export interface LanguageWords {
  /** The stem of a word in lower case, with its accents. */
  stem: (word: string) => string;
  stopwords: readonly string[];
}

/** Languages with a built-in stemmer, by ISO 639-1 code. */
export const kLanguageNames = [
  'ar',
  'da',
  'de',
  'el',
  'en',
  'es',
  'fi',
  'fr',
  'ga',
  'hi',
  'hu',
  'hy',
  'id',
  'it',
  'lt',
  'ne',
  'nl',
  'no',
  'pt',
  'ro',
  'ru',
  'sr',
  'sv',
  'ta',
  'tr',
] as const;

/** A language with a built-in stemmer, by ISO 639-1 code. */
export type StemmedLanguage = (typeof kLanguageNames)[number];

export const isStemmed = (language: unknown): language is StemmedLanguage => kLanguageNames.includes(language as StemmedLanguage);
