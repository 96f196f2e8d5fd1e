// The pieces of a query's words, by the table of a static index. For a model with BERT's WordPiece without case they are those of its own tokenizer.

/** Characters that are words by themselves: CJK. */
const kIdeographs = String.raw`\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\u{20000}-\u{2fa1f}`;
/** Words; any other sign by itself. Controls and spaces are left out. `_` and the signs of ASCII that Unicode calls symbols are signs, as BERT has it. */
const kWords = new RegExp(
  String.raw`[${kIdeographs}]|(?:(?![${kIdeographs}])[^\s\p{P}\p{C}$+<=>^\x60|~])+|[\p{P}$+<=>^\x60|~]`,
  'gu',
);
/** A longer word is unknown, as in BERT's tokenizer. */
const kLongest = 100;

/** Without case and accents. */
const plain = (text: string): string =>
  text
    .toLowerCase()
    .normalize('NFD')
    .replace(/\p{Mn}+/gu, '');

/** Words and signs of a text, without case and accents. */
export const piecesOf = (text: string): readonly string[] => plain(text).match(kWords) ?? [];

/** A vocabulary of pieces: those that begin a word, and, after `##`, those that continue it. */
export class Pieces {
  private readonly ids = new Map<string, number>();
  private readonly known = new Map<string, readonly number[]>();

  constructor(readonly pieces: readonly string[]) {
    pieces.forEach((piece, id) => this.ids.set(piece, id));
  }

  /** The longest piece at each place; none if a place has no piece. */
  private cut(word: string): readonly number[] {
    if (word.length > kLongest) return [];
    const chars = [...word];
    const out: number[] = [];
    for (let start = 0; start < chars.length;) {
      let end = chars.length;
      let id: number | undefined;
      for (; end > start; --end) {
        id = this.ids.get((start > 0 ? '##' : '') + chars.slice(start, end).join(''));
        if (id !== undefined) break;
      }
      if (id === undefined) return [];
      out.push(id);
      start = end;
    }
    return out;
  }

  /** The ids of a text's pieces; words without any are left out. */
  idsOf(text: string): number[] {
    const out: number[] = [];
    for (const word of piecesOf(text)) {
      let ids = this.known.get(word);
      if (!ids) this.known.set(word, (ids = this.cut(word)));
      out.push(...ids);
    }
    return out;
  }
}
