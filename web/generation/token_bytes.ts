// The tokens of a vocabulary as the bytes that they add in the middle of a text.
import type { TaskEngine } from '../engine/task.js';
import { DecodeFlags } from '../host/wire.js';

const kAtOnce = 16384;

/**
 * Special tokens that constraints write: marks of calls. In a grammar each is a control character, which no JSON has, so that a mark is never part of a
 * text.
 */
const kMarks = [
  '[TOOL_CALLS]', '[ARGS]', '[CALL_ID]', '<tool_call>', '</tool_call>', '<|tool_call|>', '<|python_tag|>', '<|tool_call_start|>',
  '<|tool_call_end|>', '<start_function_call>', '<end_function_call>', '<escape>', '<|tool_call>', '<tool_call|>', '<|"|>', '<code>', '</code>',
]; // prettier-ignore
/** Those but tab and line ends. */
const kCodes = Array.from({ length: 31 }, (_, i) => i + 1).filter((code) => ![9, 10, 13].includes(code));

/** The characters that byte-level tokenizers write bytes as (GPT-2's bytes_to_unicode), by code point. */
function byteAlphabet(): Map<number, number> {
  const out = new Map<number, number>();
  let next = 256;
  for (let byte = 0; byte < 256; ++byte) {
    const isItself = (byte > 32 && byte < 127) || (byte > 160 && byte !== 173);
    out.set(isItself ? byte : next++, byte);
  }
  return out;
}

export interface TokenBytes {
  /** 0: a token that no text has. */
  lengths: Int32Array;
  bytes: Uint8Array;
  /** Those that are special. */
  special: number[];
  /** Special tokens that are marks: their texts and the characters that they are in a grammar. */
  marks: Map<number, { text: string; code: string }>;
  /** Tokens that are no marks and have such a character. */
  coded: number[];
}

/** For ids below `count`. */
export function tokenBytes(engine: TaskEngine, count: number): TokenBytes {
  const encoder = new TextEncoder();
  const alphabet = byteAlphabet();
  const lengths = new Int32Array(count);
  const special: number[] = [];
  let bytes = new Uint8Array(8 * count + 64);
  let used = 0;
  const add = (id: number, own: ArrayLike<number>) => {
    if (used + own.length > bytes.length) {
      const more = new Uint8Array(2 * bytes.length + own.length);
      more.set(bytes);
      bytes = more;
    }
    bytes.set(own, used);
    used += own.length;
    lengths[id] = own.length;
  };
  const decode = (ids: number[]) => engine.call((handle) => handle.decode(ids, true, false)).text;
  const tokens = (ids: number[]) => engine.call((handle) => handle.ids_to_tokens(ids)).tokens;
  let anchor: { id: number; text: string } | undefined; // a token that others are decoded behind
  let isByteLevel = false;
  const unclear: number[] = [];
  const known: (readonly number[] | Uint8Array | undefined)[] = [];
  for (let begin = 0; begin < count; begin += kAtOnce) {
    const ids = Array.from({ length: Math.min(kAtOnce, count - begin) }, (_, i) => begin + i);
    const { pieces } = engine.call((handle) => handle.decode_pieces(ids, DecodeFlags.skip_special_tokens));
    pieces.forEach((piece, i) => {
      const id = begin + i;
      if (typeof piece !== 'string') {
        (piece === null ? special : unclear).push(id);
        return;
      }
      known[id] = encoder.encode(piece);
      if (!anchor && /^[a-z]+$/.test(piece)) anchor = { id, text: decode([id]) };
    });
  }
  if (unclear.length > 0) {
    // A part of a character: its bytes are in the token's name. What else depends on its neighbours is decoded behind another token.
    const names = tokens(unclear);
    const spaced = tokens(
      [engine.call((handle) => handle.encode(['a b'], undefined, { add_special_tokens: false })).ids].flatMap((ids) =>
        Array.from(ids),
      ),
    );
    isByteLevel = spaced.some((name) => name.includes('Ġ'));
    unclear.forEach((id, i) => {
      const name = names[i] as string;
      const hex = /^<0x([0-9A-Fa-f]{2})>$/.exec(name)?.[1];
      if (hex) known[id] = [parseInt(hex, 16)];
      else if (isByteLevel) {
        const own = Array.from(name, (c) => alphabet.get(c.codePointAt(0) as number));
        if (own.every((byte) => byte !== undefined)) known[id] = own as number[];
      } else {
        anchor ??= { id, text: decode([id]) };
        const text = decode([anchor.id, id]);
        if (text.startsWith(anchor.text) && !text.includes('\ufffd')) known[id] = encoder.encode(text.slice(anchor.text.length));
      }
    });
  }
  const marks: TokenBytes['marks'] = new Map();
  const coded: number[] = [];
  const names = tokens(special);
  special.forEach((id, i) => {
    const code = kCodes[kMarks.indexOf(names[i] as string)];
    if (code === undefined) return;
    marks.set(id, { text: names[i] as string, code: String.fromCharCode(code) });
    known[id] = [code];
  });
  const usedCodes = new Set([...marks.values()].map(({ code }) => code.charCodeAt(0)));
  for (let id = 0; id < count; ++id) {
    const own = known[id];
    if (!own) continue;
    add(id, own);
    if (!marks.has(id) && own.some((byte) => usedCodes.has(byte))) coded.push(id);
  }
  return { lengths, bytes: bytes.subarray(0, used), special, marks, coded };
}
