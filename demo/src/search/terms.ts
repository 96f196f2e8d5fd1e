// Words that tell a group of texts from the others: candidates to name it by.
import { kCommon } from './settings.js';

const kNameless = new Set(kCommon);

const wordsOf = (text: string) => (text.toLowerCase().match(/\p{L}{3,}/gu) ?? []).filter((word) => !kNameless.has(word));

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
