// Words instead of tokens: the pieces of one word stand together, without the tokenizer's marks.

/** What is read of a text's tokens here. spans: the stretch of the text that each stands for; empty for special tokens. */
export interface Pieces {
  tokens: readonly string[];
  spans: readonly (readonly [start: number, end: number])[];
}

export interface Word {
  /** As the model reads it. */
  text: string;
  /** The numbers of its tokens, rising. */
  tokens: number[];
}

const kBegins = /^[Ġ▁]/u; // BPE's and SentencePiece's mark of a space before a piece
const kGoesOn = /^##/; // WordPiece's mark of a piece that continues a word
const isLetters = (piece: string) => /^[\p{L}\p{M}\p{N}'’]+$/u.test(piece);

/** A token without the tokenizer's marks. */
export const plainToken = (token: string): string => {
  const plain = token.replace(kGoesOn, '').replace(kBegins, '');
  return plain === '' ? token : plain;
};

/** The words of a text; a special token or a mark counts as one. */
export function wordsOf({ tokens, spans }: Pieces): Word[] {
  const hasMarks = tokens.some((token) => kBegins.test(token));
  const words: Word[] = [];
  tokens.forEach((token, i) => {
    const piece = plainToken(token);
    const [start, end] = spans[i] ?? [0, 0];
    const [, before] = spans[i - 1] ?? [0, 0];
    const last = words.at(-1);
    const continues = kGoesOn.test(token) || (hasMarks && !kBegins.test(token));
    if (last && continues && end > start && start === before && isLetters(piece) && isLetters(last.text)) {
      last.text += piece;
      last.tokens.push(i);
    } else words.push({ text: piece, tokens: [i] });
  });
  return words;
}

/** The word that a token is a piece of. */
export const wordOf = (pieces: Pieces, token: number): string =>
  wordsOf(pieces).find(({ tokens }) => tokens.includes(token))?.text ?? '';
