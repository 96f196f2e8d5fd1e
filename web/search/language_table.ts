// The files of the languages (web/search/languages), each loaded when it is used. On the edge, language_table_edge.ts takes this file's place.
import type { LanguageWords, StemmedLanguage } from './language_names.js';

export type LanguageTable = Readonly<Record<StemmedLanguage, () => Promise<LanguageWords>>>;

/** How each language is loaded. */
export const kLanguages: LanguageTable = {
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
};

export const wordsOf = (language: StemmedLanguage): Promise<LanguageWords> => kLanguages[language]();
