// Words by what they begin with, for boxes in which somebody types: a look at few of many words, and none of them is sorted.

/** Characters by which words are divided. */
const kKey = 2;
/** Words of so many segments wait until somebody asks for some. */
export const kMostWaiting = 16;

export class Beginnings {
  private readonly words = new Map<string, Set<string>>();
  /** Words that were added while nobody asked for any. */
  private readonly waiting: (readonly string[])[] = [];

  addAll(words: readonly string[]): void {
    this.waiting.push(words);
    if (this.waiting.length > kMostWaiting) this.settle();
  }

  private settle(): void {
    for (const words of this.waiting.splice(0)) for (const word of words) this.add(word);
  }

  add(word: string): void {
    const key = word.slice(0, kKey);
    const some = this.words.get(key);
    if (some) some.add(word);
    else this.words.set(key, new Set([word]));
  }

  /** The words that begin with `start`, which may be one of them. */
  *of(start: string): Generator<string, void, undefined> {
    this.settle();
    const key = start.slice(0, kKey);
    const some =
      start.length < kKey ? [...this.words].filter(([each]) => each.startsWith(key)) : [[key, this.words.get(key) ?? []] as const];
    for (const [, words] of some) for (const word of words) if (word.startsWith(start)) yield word;
  }
}
