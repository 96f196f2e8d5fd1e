// A constraint of dist/wattn-constraints.wasm over a vocabulary of the 256 bytes, for checks that walk through it at random.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { root } from './shell.mjs';

const module = new WebAssembly.Module(readFileSync(join(root, 'dist/wattn-constraints.wasm')));

/** src/constraints' kinds, in its order. */
const kKinds = ['json_schema', 'regex', 'gbnf'];

/** Numbers from 0 to below 1, the same ones for a seed. */
export function randomOf(seed) {
  let state = Number(seed);
  return () => (state = (Math.imul(state, 1103515245) + 12345) >>> 0) / 2 ** 32;
}

/**
 * A random text: `allowed` gives the bytes that may follow, `mayEnd` whether it may end, and `take` adds a byte. Marks that end something are preferred more and more.
 * undefined: it is long. 'a dead end': nothing may follow, not even the end.
 */
export function walk(random, { allowed, mayEnd, take }) {
  const out = [];
  while (out.length < 3000) {
    const bytes = allowed();
    const isDone = mayEnd();
    if (isDone && (bytes.length === 0 || random() < 0.3)) return Buffer.from(out).toString();
    if (bytes.length === 0) return 'a dead end';
    const ends = [...'"}]'].map((c) => c.charCodeAt(0)).filter((byte) => bytes.includes(byte));
    const from = ends.length > 0 && random() < 0.25 + out.length / 500 ? ends : bytes;
    const byte = from[Math.floor(random() * from.length)];
    out.push(byte);
    take(byte);
  }
  return undefined;
}

/** Each code point with a property, as a range. */
function rangesOf(name) {
  const property = new RegExp(`^\\p{${name}}$`, 'u');
  return Array.from({ length: 0x110000 }, (_, c) => c).flatMap((c) => (property.test(String.fromCodePoint(c)) ? [c, c] : []));
}

/** The constraint of a description (a schema is an object): what it accepts, and random outputs. With `refused` it has none, and this says why. */
export function makeConstraint(kind, given) {
  const memory = new WebAssembly.Memory({ initial: 64, maximum: 65536 });
  const env = { memory, emscripten_notify_memory_growth() {} };
  const { exports } = new WebAssembly.Instance(module, { env });
  exports._initialize?.();
  const write = (bytes) => {
    const at = exports.room(bytes.length);
    new Uint8Array(memory.buffer).set(bytes, at);
    return bytes.length;
  };
  write(new Uint8Array([...new Uint8Array(new Int32Array(256).fill(1).buffer), ...Array(256).keys()]));
  exports.set_vocabulary(256, 256);
  const text = typeof given === 'string' ? given : JSON.stringify(given);
  for (const name of new Set(Array.from(text.matchAll(/\\[pP]\{(\w+)\}/g), ([, name]) => name))) {
    const ranges = rangesOf(name);
    exports.define_property(ranges.length, write(Buffer.concat([Buffer.from(Int32Array.from(ranges).buffer), Buffer.from(name)])) - 4 * ranges.length); // prettier-ignore
  }
  const number = exports.compile(kKinds.indexOf(kind), write(new TextEncoder().encode(text)), 0, 0);
  if (number < 0) {
    const at = exports.answer();
    return { refused: new TextDecoder().decode(new Uint8Array(memory.buffer).slice(at, at + exports.answer_bytes())) };
  }
  return {
    accepts(text) {
      const state = exports.after_bytes(number, exports.start(number), write(new TextEncoder().encode(text)));
      return state !== 0 && exports.may_end(number, state) === 1;
    },
    /** A random output. */
    walk(random) {
      let state = exports.start(number);
      return walk(random, {
        allowed() {
          const mask = new Uint32Array(memory.buffer, exports.mask(number, state), 8);
          return [...Array(256).keys()].filter((byte) => (mask[byte >> 5] >>> (byte & 31)) & 1);
        },
        mayEnd: () => exports.may_end(number, state) === 1,
        take: (byte) => (state = exports.after(number, state, byte)),
      });
    },
  };
}
