// Words that tell a group of texts from the others: candidates to name it by.

// The most frequent words of English, which name nothing.
const kCommon = new Set(
  `a about after all also an and any are as at be because been before being but by can could did do does even every for from get had has have
  he her here him his how i if in into is it its just like made make many may me more most much must my no not now of off on one only or other
  our out over own same she should so some such than that the their them then there these they this those through to too two under up us use
  very was we well were what when where which while who will with without would you your`.split(/\s+/),
);

const wordsOf = (text: string) => (text.toLowerCase().match(/\p{L}{3,}/gu) ?? []).filter((word) => !kCommon.has(word));

/** For each of `count` groups words that are more at home in it than elsewhere, the most telling first. labels: the group of each text. */
export function termsOf(texts: readonly string[], labels: Int32Array, count: number, most = 20): string[][] {
  const groups = Array.from({ length: count }, () => new Map<string, number>());
  const everywhere = new Map<string, number>();
  texts.forEach((text, i) => {
    const group = groups[labels[i] as number] as Map<string, number>;
    for (const word of new Set(wordsOf(text))) {
      group.set(word, (group.get(word) ?? 0) + 1);
      everywhere.set(word, (everywhere.get(word) ?? 0) + 1);
    }
  });
  return groups.map((group) => {
    // How often here, times how much of it is here.
    const weight = ([word, here]: [string, number]) => (here * here) / (everywhere.get(word) as number);
    const order = [...group].sort((a, b) => weight(b) - weight(a) || (a[0] < b[0] ? -1 : 1));
    return order.slice(0, most).map(([word]) => word);
  });
}
