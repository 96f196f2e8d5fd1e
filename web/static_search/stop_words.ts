// Words that a question has whatever it is about, by language. They count only in queries that have no others.
const kWords: Readonly<Record<string, string>> = {
  en: 'a an and are as at be been but by can could did do does for from has have how i if in into is it its me my no not of on or our shall should so some such than that the their them then there these they this to use using used via was we were what when where which while who why will with without would you your',
};

/** language: as `lang` of HTML has it; undefined: it is not known. */
export const stopWords = (language: string | undefined): ReadonlySet<string> =>
  new Set((kWords[/^[a-z]+/i.exec(language ?? '')?.[0].toLowerCase() ?? ''] ?? '').split(' ').filter(Boolean));
