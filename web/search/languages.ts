// Stemmers (Snowball's algorithms) and stop words of languages, each in a file of its own that is loaded when it is used.
import { InputError } from '../core/errors.js';
import { Analyser } from './words.js';

/** What is known of a language. */
export interface LanguageWords {
  /** The stem of a word in lower case, with its accents. */
  stem: (word: string) => string;
  stopwords: readonly string[];
}

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

/** Hides what a file imports from the declarations that ship: its packages are bundled, not installed. */
const loaders = <Code extends string>(languages: Record<Code, () => Promise<LanguageWords>>) => languages;

const kLanguages = loaders({
  ar: () => import('./languages/ar.js'),
  da: () => import('./languages/da.js'),
  de: () => import('./languages/de.js'),
  el: () => import('./languages/el.js'),
  en: () => import('./languages/en.js'),
  es: () => import('./languages/es.js'),
  fi: () => import('./languages/fi.js'),
  fr: () => import('./languages/fr.js'),
  ga: () => import('./languages/ga.js'),
  hi: () => import('./languages/hi.js'),
  hu: () => import('./languages/hu.js'),
  hy: () => import('./languages/hy.js'),
  id: () => import('./languages/id.js'),
  it: () => import('./languages/it.js'),
  lt: () => import('./languages/lt.js'),
  ne: () => import('./languages/ne.js'),
  nl: () => import('./languages/nl.js'),
  no: () => import('./languages/no.js'),
  pt: () => import('./languages/pt.js'),
  ro: () => import('./languages/ro.js'),
  ru: () => import('./languages/ru.js'),
  sr: () => import('./languages/sr.js'),
  sv: () => import('./languages/sv.js'),
  ta: () => import('./languages/ta.js'),
  tr: () => import('./languages/tr.js'),
});

/** Languages with a stemmer, by their ISO 639-1 codes. */
export type StemmedLanguage = keyof typeof kLanguages;

export const kLanguageNames = Object.keys(kLanguages) as StemmedLanguage[];

export const isStemmed = (language: unknown): language is StemmedLanguage =>
  typeof language === 'string' && Object.hasOwn(kLanguages, language);

/** Loads a language. where: the option that names it, for messages. */
export async function loadLanguage(where: string, language: string): Promise<LanguageWords> {
  if (!isStemmed(language)) throw new InputError(`${where}: expected one of ${kLanguageNames.join(', ')}, found '${language}'`);
  return kLanguages[language]();
}
