// How a classifier does on its own examples, each judged by one that has not seen it: by slice, by confusion; and which edits change an answer.
import { Classifier, type FeatureExtractionPipeline, type LabelScore } from 'wattn';
import { tensorOf, type Example } from './sure_words.js';

export interface Judged extends Example {
  /** What was said of it. */
  said: string;
  score: number;
}

export interface Slice {
  name: string;
  right: number;
  of: number;
}

export interface Confusion {
  label: string;
  said: string;
  /** Indices of the texts. */
  at: number[];
}

export interface Edit {
  text: string;
  /** 'without “will”' or '“will” instead of “did”' */
  says: string;
  label: string;
  score: number;
}

const kMostFolds = 5;

/** Which fold holds each example: those of a label in turns, so that each fold has some of every label. */
export function foldsOf(labels: readonly string[]): { folds: number; of: number[] } {
  const seen = new Map<string, number>();
  const turns = labels.map((label) => {
    const turn = seen.get(label) ?? 0;
    seen.set(label, turn + 1);
    return turn;
  });
  const folds = Math.min(kMostFolds, ...seen.values());
  return { folds, of: turns.map((turn) => turn % folds) };
}

/** strength: the classifier's C. */
export async function judge(
  embed: FeatureExtractionPipeline,
  examples: readonly Example[],
  strength: number | undefined,
): Promise<Judged[]> {
  const { folds, of } = foldsOf(examples.map(({ label }) => label));
  const judged: Judged[] = [];
  for (let fold = 0; fold < folds; ++fold) {
    const seen = examples.filter((_, i) => of[i] !== fold);
    const labels = seen.map(({ label }) => label);
    const how = { class_weight: 'balanced', calibrate: false, ...(strength !== undefined && { C: strength }) } as const;
    const classifier = await Classifier.fit(embed, tensorOf(seen.map(({ vector }) => vector)), labels, how);
    const held = examples.flatMap((_, i) => (of[i] === fold ? [i] : []));
    const answers = await classifier(tensorOf(held.map((i) => (examples[i] as Example).vector)));
    answers.forEach(({ label, score }, k) => {
      const i = held[k] as number;
      judged[i] = { ...(examples[i] as Example), said: label, score };
    });
  }
  return judged;
}

const countWords = (text: string) => text.split(/\s+/).filter(Boolean).length;
const kNot = /\b(no|not|never|nobody|nothing|without)\b|n['’]t\b/i;

/** What the texts are divided by: each a name and whether a text is of it. word: one that a person asks about. */
function cutsOf(judged: readonly Judged[], word: string): [name: string, isIn: (one: Judged) => boolean][] {
  const lengths = judged.map(({ text }) => countWords(text)).sort((a, b) => a - b);
  const middle = lengths[lengths.length >> 1] ?? 0;
  const asked = word.trim().toLowerCase();
  const has = ({ text }: Judged) => text.toLowerCase().includes(asked);
  return [
    ...[...new Set(judged.map(({ label }) => label))].map((label) => [`Label “${label}”`, (one: Judged) => one.label === label] as [string, (one: Judged) => boolean]), // prettier-ignore
    [`Below ${middle} words`, ({ text }) => countWords(text) < middle],
    [`${middle} words or more`, ({ text }) => countWords(text) >= middle],
    ['Questions', ({ text }) => text.includes('?')],
    ['With a “not”', ({ text }) => kNot.test(text)],
    ['With digits', ({ text }) => /\d/.test(text)],
    ...(asked === '' ? [] : ([[`With “${asked}”`, has], [`Without “${asked}”`, (one) => !has(one)]] as [string, (one: Judged) => boolean][])), // prettier-ignore
  ];
}

/** Slices that no text belongs to are left out. */
export const slicesOf = (judged: readonly Judged[], word = ''): Slice[] =>
  cutsOf(judged, word)
    .map(([name, isIn]) => {
      const own = judged.filter(isIn);
      return { name, right: own.filter(({ label, said }) => label === said).length, of: own.length };
    })
    .filter(({ of }) => of > 0);

/** Which label is taken for which other, the most frequent first. */
export function confusionsOf(judged: readonly Judged[]): Confusion[] {
  const found = new Map<string, Confusion>();
  judged.forEach(({ label, said }, i) => {
    if (label === said) return;
    const key = JSON.stringify([label, said]);
    const one = found.get(key) ?? { label, said, at: [] };
    one.at.push(i);
    found.set(key, one);
  });
  return [...found.values()].sort((a, b) => b.at.length - a.at.length);
}

const kWord = /[\p{L}\p{N}]+(?:['’][\p{L}]+)*/gu;
const wordsOf = (text: string) =>
  [...text.matchAll(kWord)].map(({ 0: word, index }) => ({ word, start: index, end: index + word.length }));

/** For each label, words that its texts have more often than those of the others, most first. */
export function wordsOfLabels(examples: readonly { text: string; label: string }[], most: number): Map<string, string[]> {
  const labels = [...new Set(examples.map(({ label }) => label))];
  const shareIn = (word: string, of: readonly { text: string }[]) =>
    of.filter(({ text }) => wordsOf(text.toLowerCase()).some((one) => one.word === word)).length / Math.max(1, of.length);
  return new Map(
    labels.map((label) => {
      const own = examples.filter((one) => one.label === label);
      const others = examples.filter((one) => one.label !== label);
      const words = [...new Set(own.flatMap(({ text }) => wordsOf(text.toLowerCase()).map(({ word }) => word)))];
      const scored = words.map((word) => ({ word, score: shareIn(word, own) - shareIn(word, others) }));
      return [label, scored.filter(({ score }) => score > 0).sort((a, b) => b.score - a.score).slice(0, most).map(({ word }) => word)]; // prettier-ignore
    }),
  );
}

/** The text with one word left out or replaced. instead: words to put there. */
export function editsOf(text: string, instead: readonly string[]): { text: string; says: string }[] {
  const words = wordsOf(text);
  const without = words.map(({ word, start, end }) => ({
    text: (text.slice(0, start) + text.slice(end)).replace(/\s+/g, ' ').trim(),
    says: `without “${word}”`,
  }));
  const replaced = words.flatMap(({ word, start, end }) =>
    instead
      .filter((other) => other !== word.toLowerCase())
      .map((other) => ({ text: text.slice(0, start) + other + text.slice(end), says: `“${other}” instead of “${word}”` })),
  );
  return [...without, ...replaced].filter((one) => one.text !== '');
}

/** Those edits after which another label is the best, the surest first; words left out come before words replaced. */
export function flipsOf(
  edits: readonly { text: string; says: string }[],
  answers: readonly LabelScore[],
  label: string,
  most: number,
): Edit[] {
  const flips = edits
    .map((edit, i) => ({ ...edit, label: answers[i]?.label ?? label, score: answers[i]?.score ?? 0 }))
    .filter((edit) => edit.label !== label);
  const isShorter = ({ says }: Edit) => says.startsWith('without');
  return flips.sort((a, b) => Number(isShorter(b)) - Number(isShorter(a)) || b.score - a.score).slice(0, most);
}
