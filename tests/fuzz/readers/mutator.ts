// Damages files: bytes as a disk or network would, and JSON (also in the header of safetensors) as an attacker would.

export type Files = Map<string, Uint8Array>;

export class Random {
  private state: number;
  constructor(seed: number) {
    this.state = Math.imul(seed ^ 0x5bd1e995, 0x9e3779b1) >>> 0;
    this.below(2);
  }
  below(limit: number): number {
    this.state = (Math.imul(this.state, 1103515245) + 12345) >>> 0;
    return Math.floor(((this.state >>> 4) / 2 ** 28) * limit);
  }
  pick<T>(list: readonly T[]): T {
    return list[this.below(list.length)] as T;
  }
}

/** Values that break sizes, offsets and counts. */
const kNumbers = [0, 1, 0x7f, 0x80, 0xff, 0xffff, 0x7fffffff, 0x80000000, 0xffffffff];
const deep = (begin: string, end: string) => begin.repeat(100_000) + end.repeat(100_000);
/** JSON for any value: wrong types, numbers that are too large or none, texts that end as something else. */
const kValues = [
  ...['null', 'true', 'false', '""', '[]', '{}', '[null]', '[[]]', '{"":null}', '"NaN"', '"none"', '"x"', '"0"'],
  ...['-1', '0', '-0', '1', '2', '0.5', '-1e308', '1e308', '1e999', '1e-320', '255', '65536', '2147483647', '4294967296'],
  ...['9007199254740991', '9007199254740993', '18446744073709551616', '9'.repeat(400)],
  ...['"__proto__"', '"constructor"', '"toString"', '"../../x"', '"/etc/passwd"', '"a/../../b"', '"\\ud800"', '"\\u0000"'],
  ...['"(a+)+$"', '"["', '"(?<n>x)"', '"\\\\"', '"$&"', '"$`$\'"', `"${'y'.repeat(5000)}"`, '"http://127.0.0.1:1/x"'],
  ...['{"__proto__":{"x":1}}', '{"constructor":{"prototype":1}}', '{"length":1e9}', '{"type":null}', '{"content":[]}'],
  ...[deep('[', ']'), deep('{"a":', '}').replace('}', '0}')],
];
const kKeys = [
  '__proto__',
  'constructor',
  'prototype',
  'toString',
  'length',
  'hasOwnProperty',
  '',
  '0',
  '-1',
  'then',
  'toJSON',
  '\ud800',
];

/** A place in parsed JSON: a member of an object or an array. */
interface Place {
  parent: any;
  key: string;
}

function placesOf(root: unknown, random: Random): Place[] {
  const places: Place[] = [];
  const visit = (parent: any) => {
    const keys = Object.keys(parent);
    // Some members of long lists, such as vocabularies.
    const some = keys.length <= 200 ? keys : Array.from({ length: 50 }, () => random.pick(keys));
    for (const key of some) {
      places.push({ parent, key });
      if (typeof parent[key] === 'object' && parent[key] !== null) visit(parent[key]);
    }
  };
  visit(root);
  return places;
}

const kMark = '\u0001mark';

const sizeOf = (value: unknown) => (JSON.stringify(value) ?? '').length;

/** One change of a place; JSON that cannot be a JavaScript value is put in later, for a mark. later: the texts for the marks. */
function damagePlace(places: readonly Place[], random: Random, later: string[]): void {
  const { parent, key } = random.pick(places);
  const value = parent[key];
  const mark = (json: string) => `${kMark}${later.push(json) - 1}.`;
  switch (random.below(9)) {
    case 0:
      if (Array.isArray(parent)) parent.splice(Number(key), 1);
      else delete parent[key];
      return;
    case 1:
      parent[mark(JSON.stringify(random.pick(kKeys)))] = mark(random.pick(kValues)); // of an array: left out
      return;
    case 2:
      if (Array.isArray(parent))
        parent.push(...Array.from({ length: sizeOf(value) < 100 ? random.pick([1, 2, 1000]) : 1 }, () => value));
      else parent[mark(JSON.stringify(key))] = mark(random.pick(kValues)); // the same key twice
      return;
    case 3: {
      const other = random.pick(places);
      // As text, so that nothing contains itself.
      [parent[key], other.parent[other.key]] = [JSON.parse(JSON.stringify(other.parent[other.key] ?? null)), value];
      if (sizeOf(parent[key]) > 1e6) parent[key] = null;
      return;
    }
    case 4:
      if (typeof value === 'number') {
        parent[key] = random.pick([
          value + 1,
          value - 1,
          -value,
          2 * value,
          value * 2 ** 20,
          value * 2 ** 31,
          value / 3,
          value + 2 ** 32,
        ]);
        return;
      }
      if (typeof value === 'string') {
        const at = random.below(value.length + 1);
        parent[key] =
          value.slice(0, at) + random.pick(['', '\0', '\ud800', '..', '/', '\u0301', value]) + value.slice(at + random.below(3));
        return;
      }
  }
  parent[key] = mark(random.pick(kValues));
}

export function damageJson(text: string, random: Random): string {
  const later: string[] = [];
  const root = [JSON.parse(text)];
  for (let count = 1 + random.below(3); count > 0; --count) {
    const places = placesOf(root, random);
    if (places.length === 0) break;
    damagePlace(places.slice(random.below(10) === 0 ? 0 : Math.min(1, places.length - 1)), random, later); // the root itself seldom
  }
  const marks = new RegExp(`"\\\\u0001mark(\\d+)\\."`, 'g');
  let out: string;
  try {
    out = JSON.stringify(root).slice(1, -1);
  } catch {
    return text.slice(0, -1); // it contains itself by now
  }
  // The same mark may stand a thousand times by now; a string has an end.
  let left = 16e6;
  return out.replace(marks, (_, i) => {
    const json = later[Number(i)] as string;
    left -= json.length;
    return left > 0 ? json : 'null';
  });
}

const isDigit = (byte: number | undefined) => byte !== undefined && byte >= 48 && byte <= 57;

/** The first number written in digits from a place on becomes another. */
function withNumber(bytes: Uint8Array, from: number, random: Random): Uint8Array {
  const at = bytes.findIndex((byte, i) => i >= from && isDigit(byte));
  if (at < 0) return bytes;
  let end = at;
  while (isDigit(bytes[end])) ++end;
  const number = Buffer.from(
    random.pick(['0', '-1', '7', '1e9', '100000000', '4294967296', '9007199254740993', '9'.repeat(400), '', 'x']),
  );
  return Buffer.concat([bytes.subarray(0, at), number, bytes.subarray(end)]);
}

/** tail: half of the damage is done to so many bytes at the end, where archives have their directory. */
export function damageBytes(given: Uint8Array, random: Random, tail = 0): Uint8Array {
  let bytes: Uint8Array = given.slice();
  for (let count = 1 + random.below(4); count > 0 && bytes.length > 0; --count) {
    // A third of the damage is done to the first bytes, where heads are.
    const inHead = () => (random.below(3) === 0 ? random.below(Math.min(64, bytes.length)) : random.below(bytes.length));
    const inTail = tail > 0 && random.below(2) === 0;
    const at = inTail ? bytes.length - 1 - random.below(Math.min(tail, bytes.length)) : inHead();
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
    const value = random.pick(kNumbers);
    const from = random.below(bytes.length);
    const length = 1 + random.below(random.pick([1, 8, 64, 1000]));
    switch (random.below(9)) {
      case 8:
        bytes = withNumber(bytes, at, random);
        break;
      case 0:
        bytes[at] = random.below(256);
        break;
      case 1:
        bytes[at] = (bytes[at] as number) ^ (1 << random.below(8));
        break;
      case 2:
        if (at + 4 <= bytes.length) view.setUint32(at, value, true);
        break;
      case 3:
        if (at + 8 <= bytes.length) view.setBigUint64(at, BigInt(value) << BigInt(random.below(33)), true);
        break;
      case 4:
        bytes.copyWithin(at, from, from + length);
        break;
      case 5:
        bytes = Buffer.concat([bytes.subarray(0, at), bytes.subarray(Math.min(bytes.length, at + length))]).slice();
        break;
      case 6:
        bytes = Buffer.concat([bytes.subarray(0, at), bytes.subarray(from, from + length), bytes.subarray(at)]).slice();
        break;
      case 7:
        bytes = bytes.slice(0, at);
    }
  }
  return new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.length);
}

const utf8 = new TextEncoder();

/** safetensors with another JSON in its head. */
function damageHead(bytes: Uint8Array, random: Random): Uint8Array {
  const end = 8 + Number(new DataView(bytes.buffer, bytes.byteOffset).getBigUint64(0, true));
  const head = utf8.encode(damageJson(new TextDecoder().decode(bytes.subarray(8, end)), random));
  const size = new Uint8Array(8);
  new DataView(size.buffer).setBigUint64(0, BigInt(head.length), true);
  return new Uint8Array(Buffer.concat([size, head, bytes.subarray(end)]));
}

function damageFile(name: string, bytes: Uint8Array, random: Random): Uint8Array {
  const asBytes = random.below(4) === 0;
  try {
    if (!asBytes && name.endsWith('.json')) return utf8.encode(damageJson(new TextDecoder().decode(bytes), random));
    if (!asBytes && name.endsWith('.safetensors')) return damageHead(bytes, random);
  } catch {
    // It was damaged before.
  }
  return damageBytes(bytes, random);
}

/** Files of which one or two are damaged, or one is taken away. only: which may be. */
export function damaged(files: Files, random: Random, only: RegExp = /./): Files {
  const out = new Map(files);
  const names = [...files.keys()].filter((name) => only.test(name));
  for (let count = random.below(5) === 0 ? 2 : 1; count > 0; --count) {
    const name = random.pick(names);
    const bytes = out.get(name);
    if (bytes && names.length > 1 && random.below(50) === 0) out.delete(name);
    else if (bytes) out.set(name, damageFile(name, bytes, random));
  }
  return out;
}
