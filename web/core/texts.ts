import { describe, InputError } from './errors.js';
import { abortable } from './signal.js';
import type { AbortSignalLike } from './types.js';

/** The parts in one array of this realm's type. */
export function concat<T extends Uint8Array | Int32Array | Float32Array>(Type: new (size: number) => T, parts: readonly T[]): T {
  const [first] = parts;
  if (parts.length === 1 && first instanceof Type) return first;
  const out = new Type(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    out.set(part, at);
    at += part.length;
  }
  return out;
}

/** The items of an iterable or async iterable of strings or sentences; waiting for them can be aborted. */
export async function* itemsOf<T>(
  source: Iterable<T> | AsyncIterable<T>,
  signal: AbortSignalLike | undefined,
  wrongType: () => Error,
): AsyncGenerator<T> {
  const sync = (source as Iterable<T> | null | undefined)?.[Symbol.iterator]?.();
  const iterator = sync ?? (source as AsyncIterable<T> | null | undefined)?.[Symbol.asyncIterator]?.();
  if (!iterator) throw wrongType();
  try {
    for (;;) {
      const step = sync ? sync.next() : await abortable(iterator.next() as Promise<IteratorResult<T>>, signal);
      if (step.done) return;
      yield step.value;
    }
  } finally {
    void iterator.return?.();
  }
}

/** The strings of a string or an array, in an array of our own: each is read once, as a getter may give something else the second time. */
export function readTexts(where: string, texts: unknown): string[] {
  if (typeof texts === 'string') return [texts];
  if (!Array.isArray(texts)) throw new InputError(`${where}: expected a string or an array of strings, found ${describe(texts)}`);
  const out = Array.from<unknown>(texts);
  const bad = out.findIndex((text) => typeof text !== 'string');
  if (bad >= 0) throw new InputError(`${where}: expected a string at index ${bad}, found ${describe(out[bad])}`);
  return out as string[];
}

const encoder = new TextEncoder();

/** Texts as they cross to WebAssembly: joined, in UTF-8 (lone surrogates become U+FFFD), with their lengths in UTF-16 units. */
interface JoinedTexts {
  text: Uint8Array;
  lengths: Int32Array;
}

/** A typed array is copied at once, and engines write UTF-8 several times faster than a loop reads UTF-16 units. */
export function joinTexts(texts: readonly string[]): JoinedTexts {
  const lengths = new Int32Array(texts.length);
  let units = 0;
  texts.forEach((text, i) => (units += lengths[i] = text.length));
  const bytes = new Uint8Array(3 * units); // upper bound; unwritten pages cost no memory
  let size = 0;
  for (const text of texts) size += encoder.encodeInto(text, bytes.subarray(size)).written;
  return { text: bytes.subarray(0, size), lengths };
}

/** The shortest decimal that reads back as the same float32. */
export function floatText(value: number): string {
  if (Object.is(value, -0)) return '-0';
  const text = (digits: number) => String(Number(value.toPrecision(digits)));
  const fits = (digits: number) => Math.fround(Number(value.toPrecision(digits))) === value;
  let digits = fits(8) ? 8 : 9;
  while (digits <= 8 && digits > 1 && fits(digits - 1)) --digits;
  return text(digits);
}
