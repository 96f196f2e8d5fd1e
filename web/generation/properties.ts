// What the properties of Unicode in patterns (\p{L}, \P{Script=Greek}) match: this engine's own tables, so the WebAssembly has none.

const kNames = /\\[pP]\{([\w=]+)\}/g;
const kBlock = 0x1000; // code points of a text that is searched
const known = new Map<string, readonly number[]>();

/** The first and last code point of each range; undefined for a name that is no property of characters. */
function rangesOf(name: string): readonly number[] | undefined {
  let pattern: RegExp;
  try {
    pattern = new RegExp(`\\p{${name}}+`, 'gu');
  } catch {
    return undefined;
  }
  const out: number[] = [];
  for (let begin = 0; begin < 0x110000; begin += kBlock) {
    addRanges(pattern, begin, begin === 0xd000 ? 0xd800 : begin + kBlock, out); // surrogates have no bytes
  }
  return out;
}

/** Adds the ranges of a block, whose first may go on with the last one. */
function addRanges(pattern: RegExp, begin: number, end: number, out: number[]): void {
  const text = String.fromCodePoint(...Array.from({ length: end - begin }, (_, i) => begin + i));
  const width = begin < 0x10000 ? 1 : 2;
  for (const { 0: match, index } of text.matchAll(pattern)) {
    const first = begin + index / width;
    const last = first + match.length / width - 1;
    if (out.at(-1) === first - 1) out[out.length - 1] = last;
    else out.push(first, last);
  }
}

/** The properties that a text names anywhere, with their ranges. */
export function propertiesIn(text: string): Map<string, readonly number[]> {
  const out = new Map<string, readonly number[]>();
  for (const [, name] of text.matchAll(kNames)) {
    const ranges = known.get(name as string) ?? rangesOf(name as string);
    if (!ranges) continue;
    known.set(name as string, ranges);
    out.set(name as string, ranges);
  }
  return out;
}
