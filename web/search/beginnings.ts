// Words by what they begin with, for boxes in which somebody types: a look at few of many words, and none of them is sorted.

/** Characters by which words are divided. */
const kKey = 2;

export class Beginnings {
  private readonly words = new Map<string, Set<string>>();

  add(word: string): void {
    const key = word.slice(0, kKey);
    const some = this.words.get(key);
    if (some) some.add(word);
    else this.words.set(key, new Set([word]));
  }

  /** The words that begin with `start`, which may be one of them. */
  *of(start: string): Generator<string, void, undefined> {
    const key = start.slice(0, kKey);
    const some =
      start.length < kKey ? [...this.words].filter(([each]) => each.startsWith(key)) : [[key, this.words.get(key) ?? []] as const];
    for (const [, words] of some) for (const word of words) if (word.startsWith(start)) yield word;
  }
}
