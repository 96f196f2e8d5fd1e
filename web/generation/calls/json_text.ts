// JSON that is still being written.
import { mayBecome, skipSpace, type Callable, type Part, type ReadCall, type Section } from './types.js';

/** The index behind the JSON value at `at`; -1: it goes on beyond the text. What is malformed ends somewhere, and fails when it is parsed. */
export function jsonEnd(text: string, at: number): number {
  let depth = 0;
  for (let i = at; i < text.length; ++i) {
    const c = text[i] as string;
    if (c === '"') {
      for (++i; i < text.length && text[i] !== '"'; ++i) if (text[i] === '\\') ++i;
      if (i >= text.length) return -1;
      if (depth === 0) return i + 1;
    } else if (c === '{' || c === '[') ++depth;
    else if (c === '}' || c === ']') {
      if (depth === 0) return i;
      if (--depth === 0) return i + 1;
    } else if (depth === 0 && /[\s,;:<]/.test(c)) return i;
  }
  return -1;
}

/** JSON whose texts have line ends as they are, as models write them, with their escapes. The same for a beginning of it. */
export const withEscapes = (json: string): string =>
  json.replace(/"(?:\\[^]|[^"\\])*"?/g, (own) =>
    // eslint-disable-next-line no-control-regex
    own.replace(/[\u0000-\u001f]/g, (c) => JSON.stringify(c).slice(1, -1)),
  );

/** A JSON object, or a text that has one; undefined: it is none. */
export function objectOf(json: string): Record<string, unknown> | undefined {
  try {
    let value: unknown = JSON.parse(withEscapes(json));
    if (typeof value === 'string') value = JSON.parse(value);
    if (value === null) return {};
    return typeof value === 'object' && !Array.isArray(value) ? (value as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}

interface Member {
  key: string;
  from: number;
  /** -1: it goes on. */
  to: number;
}

/** The members of the object at `at`. end: behind it; -1: it goes on; undefined: it is malformed. */
function membersOf(text: string, at: number): { list: Member[]; end: number | undefined } {
  const list: Member[] = [];
  const open = { list, end: -1 };
  let i = skipSpace(text, at + 1);
  for (;;) {
    if (i >= text.length) return open;
    if (text[i] === '}') return { list, end: i + 1 };
    if (text[i] !== '"') return { list, end: undefined };
    const keyEnd = jsonEnd(text, i);
    if (keyEnd < 0) return open;
    let key: string;
    try {
      key = JSON.parse(text.slice(i, keyEnd));
    } catch {
      return { list, end: undefined };
    }
    i = skipSpace(text, keyEnd);
    if (i >= text.length) return open;
    if (text[i] !== ':') return { list, end: undefined };
    const from = skipSpace(text, i + 1);
    if (from >= text.length) return open;
    const to = jsonEnd(text, from);
    if (to === from) return { list, end: undefined };
    list.push({ key, from, to });
    if (to < 0) return open;
    i = skipSpace(text, to);
    if (text[i] === ',') i = skipSpace(text, i + 1);
    else if (i < text.length && text[i] !== '}') return { list, end: undefined };
  }
}

const kKeys = ['name', 'arguments', 'parameters', 'type', 'function', 'id'];

/** What the object of a call says; null: it is no call. call: undefined before its name is known. */
export function readCall(text: string, at: number): { call?: ReadCall; end: number } | null {
  const { list, end } = membersOf(text, at);
  if (end === undefined) return null;
  const textOf = (key: string) => {
    const own = list.find((each) => each.key === key && each.to > 0 && text[each.from] === '"');
    return own && (JSON.parse(withEscapes(text.slice(own.from, own.to))) as string);
  };
  if (list[0] && !kKeys.includes(list[0].key)) return null;
  let name: string | undefined;
  let id: string | undefined;
  try {
    name = textOf('name') ?? textOf('function');
    id = textOf('id');
  } catch {
    return null;
  }
  const inner = list.find(({ key, from }) => key === 'function' && text[from] === '{');
  if (inner) {
    const own = readCall(text, inner.from);
    if (!own || (end >= 0 && !own.call)) return null;
    const { call } = own;
    const { value, ...rest } = call ?? { name: '', text: '' };
    return { end, ...(call && { call: { ...rest, ...(end >= 0 && value && { value }), ...(id !== undefined && { id }) } }) };
  }
  if (name === undefined || name === '') return end < 0 && name === undefined ? { end } : null;
  const call: ReadCall = { name, text: '', ...(id !== undefined && { id }) };
  const given = list.find(({ key }) => key === 'arguments' || key === 'parameters');
  if (given) {
    const raw = text.slice(given.from, given.to < 0 ? undefined : given.to);
    const value = given.to < 0 ? undefined : objectOf(raw);
    if (given.to >= 0 && !value) return null;
    if (!'{"n'.includes(raw[0] as string)) return null;
    if (raw[0] === '{') call.text = withEscapes(raw);
    else if (value) call.text = JSON.stringify(value);
    if (end >= 0) call.value = value as Record<string, unknown>;
  } else if (end >= 0) {
    call.text = '{}';
    call.value = {};
  }
  return { call, end };
}

/** Calls as JSON at `at`: objects, or lists of them, up to `close`. accepts: whether an object is one. */
export function readJsonCalls(text: string, at: number, close: string, between = ''): Section {
  const calls: ReadCall[] = [];
  let i = at;
  let isList = false;
  let ended = at; // behind the last whole call
  for (;;) {
    i = skipSpace(text, i);
    const whole = (end: number): Section => ({ calls, end, state: calls.length > 0 ? 'whole' : 'wrong' });
    if (i >= text.length || (close !== '' && mayBecome(text, i, close))) return { calls, end: text.length, state: 'open' };
    const c = text[i];
    if (isList && c === ']') {
      isList = false;
      ended = ++i;
      if (close === '') return whole(i);
    } else if (c === '[' && !isList && calls.length === 0) {
      isList = true;
      ++i;
    } else if (c === '{') {
      const one = readCall(text, i);
      if (!one) return whole(ended);
      if (one.call) calls.push(one.call);
      if (one.end < 0) return { calls, end: i, state: 'open' };
      ended = i = one.end;
    } else if (isList ? c === ',' : between !== '' && c === between) ++i;
    else if (close !== '' && text.startsWith(close, i)) return whole(i + close.length);
    else return whole(ended);
  }
}

/** The object of a call, as Python's json.dumps() writes it. */
export const callPart = ({ name, parameters }: Callable, args = 'arguments'): Part => [
  `{"name": ${JSON.stringify(name)}, "${args}": `,
  { json: parameters },
  '}',
];
