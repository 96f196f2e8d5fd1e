// Calls as Python writes them: name(key='text', other=[1, True, None]).
import { UnsupportedError } from '../../core/errors.js';
import type { Callable, Part, ReadCall } from './types.js';
import { skipSpace } from './types.js';

/** The text ends within a value. */
class Open extends Error {}
/** The text is none. */
class Wrong extends Error {}

const kEscapes: Record<string, string> = { n: '\n', t: '\t', r: '\r', b: '\b', f: '\f', v: '\v', a: '\x07', '0': '\0', '\n': '' };
const kWords: Record<string, unknown> = { True: true, False: false, None: null, true: true, false: false, null: null };

class Values {
  constructor(
    private readonly text: string,
    public at: number,
  ) {}
  space(): void {
    this.at = skipSpace(this.text, this.at);
  }
  /** The next character that is no white space. */
  peek(): string {
    this.space();
    const c = this.text[this.at];
    if (c === undefined) throw new Open();
    return c;
  }
  take(c: string): boolean {
    if (this.peek() !== c) return false;
    ++this.at;
    return true;
  }
  need(c: string): void {
    if (!this.take(c)) throw new Wrong();
  }
  /** What matches here and ends before the text does. */
  match(pattern: RegExp): string {
    const own = pattern.exec(this.text.slice(this.at))?.[0] ?? '';
    this.at += own.length;
    if (this.at >= this.text.length) throw new Open();
    if (own === '') throw new Wrong();
    return own;
  }
  private string(): string {
    const begin = this.text.slice(this.at, this.at + 3);
    const quote = begin === '"""' || begin === "'''" ? begin : (begin[0] as string);
    if (quote.length === 1 && begin.length < 3 && begin === quote.repeat(begin.length)) throw new Open();
    this.at += quote.length;
    let out = '';
    while (!this.text.startsWith(quote, this.at)) {
      const c = this.text[this.at++];
      if (c === undefined) throw new Open();
      if (c !== '\\') {
        out += c;
        continue;
      }
      const e = this.text[this.at++];
      if (e === undefined) throw new Open();
      const digits = { x: 2, u: 4, U: 8 }[e];
      if (digits) {
        const hex = this.text.slice(this.at, this.at + digits);
        if (this.at + digits > this.text.length) throw new Open();
        const code = /^[\da-fA-F]+$/.test(hex) ? parseInt(hex, 16) : NaN;
        if (!(code <= 0x10ffff)) throw new Wrong();
        out += digits === 4 ? String.fromCharCode(code) : String.fromCodePoint(code);
        this.at += digits;
      } else out += kEscapes[e] ?? ('\\\'"/'.includes(e) ? e : `\\${e}`);
    }
    this.at += quote.length;
    return out;
  }
  value(depth = 0): unknown {
    if (depth > 200) throw new Wrong();
    const c = this.peek();
    if (c === '"' || c === "'") {
      let out = this.string();
      while (this.at < this.text.length && /["']/.test(this.peek())) out += this.string(); // texts beside each other are one
      return out;
    }
    if (c === '[' || c === '(') {
      ++this.at;
      const [list, close] = [[] as unknown[], c === '[' ? ']' : ')'];
      while (!this.take(close)) {
        if (list.length > 0) this.need(',');
        if (this.take(close)) break;
        list.push(this.value(depth + 1));
      }
      return list;
    }
    if (c === '{') {
      ++this.at;
      const out: [string, unknown][] = [];
      while (!this.take('}')) {
        if (out.length > 0) this.need(',');
        if (this.take('}')) break;
        const key = this.value(depth + 1);
        this.need(':');
        out.push([String(key), this.value(depth + 1)]);
      }
      return Object.fromEntries(out);
    }
    if (/^[+-]?[\d._]*(?:[eE][+-]?\d*)?$/.test(this.text.slice(this.at, this.at + 400))) throw new Open(); // a number goes on
    const word = this.match(/^[A-Za-z_]\w*|^[+-]?[\d._]+(?:[eE][+-]?\d+)?/);
    if (Object.hasOwn(kWords, word)) return kWords[word];
    const number = /^[+-]?\d/.test(word) || /^[+-]?\.\d/.test(word) ? Number(word.replaceAll('_', '')) : NaN;
    if (!Number.isFinite(number)) throw new Wrong();
    return number;
  }
}

/** A call at `at`. Arguments without a key have those of the tool's parameters in turn. */
export function readPythonCall(
  text: string,
  at: number,
  tools: readonly Callable[],
): { call?: ReadCall; end: number; state: 'whole' | 'open' | 'wrong' } {
  const own = new Values(text, at);
  let name = '';
  let hasBegun = false;
  const done: [string, unknown][] = [];
  const written = () => done.map(([key, value]) => `${JSON.stringify(key)}: ${JSON.stringify(value)}`).join(', ');
  try {
    name = own.match(/^[A-Za-z_][\w.-]*/);
    const keys = Object.keys(Object(tools.find((tool) => tool.name === name)?.parameters['properties']));
    own.need('(');
    hasBegun = true;
    while (!own.take(')')) {
      if (done.length > 0) own.need(',');
      if (own.take(')')) break;
      own.space();
      const named = /^([A-Za-z_][\w-]*)\s*=/.exec(text.slice(own.at));
      if (named) own.at += named[0].length;
      else if (/^[A-Za-z_][\w-]*\s*$/.test(text.slice(own.at))) throw new Open();
      const key = named?.[1] ?? keys[done.length];
      const value = own.value();
      own.peek(); // a value may go on where the text ends
      if (key === undefined || done.some(([other]) => other === key)) throw new Wrong();
      done.push([key, value]);
    }
    return { call: { name, text: `{${written()}}`, value: Object.fromEntries(done) }, end: own.at, state: 'whole' };
  } catch (error) {
    if (error instanceof Wrong) return { end: at, state: 'wrong' };
    if (!(error instanceof Open)) throw error;
    return { ...(hasBegun && { call: { name, text: `{${written()}` } }), end: at, state: 'open' };
  }
}

/** Schemas that others of the same document name. */
const definitions = ({ $defs, definitions }: Record<string, unknown>) => ({
  ...($defs !== undefined && { $defs }),
  ...(definitions !== undefined && { definitions }),
});

/** The members of an object in the order of its schema, required ones first. write: a member and its value. */
export function memberParts(
  schema: Record<string, unknown>,
  between: string,
  write: (key: string, value: Record<string, unknown> | boolean) => Part,
): Part {
  const properties = Object.entries(Object(schema['properties'])) as [string, Record<string, unknown> | boolean][];
  const required = Array.isArray(schema['required']) ? (schema['required'] as unknown[]) : [];
  const missing = required.find((name) => !properties.some(([key]) => key === name));
  if (missing !== undefined)
    throw new UnsupportedError(`tools: parameters: required: expected keys with a schema in properties, found '${missing}'`);
  const isRequired = (key: string) => required.includes(key);
  const first = properties.filter(([key]) => isRequired(key)).map(([key, value]) => write(key, value));
  const rest = properties.filter(([key]) => !isRequired(key)).map(([key, value]) => write(key, value));
  const maybe = (parts: readonly Part[]): Part[] => parts.map((each) => ({ any: ['', [between, each]] }));
  if (first.length > 0) return [...first.flatMap((each, i) => (i > 0 ? [between, each] : [each])), ...maybe(rest)];
  return { any: ['', ...rest.map((each, i): Part => [each, ...maybe(rest.slice(i + 1))])] };
}

/** A call of a tool with its arguments by name. */
export function pythonPart({ name, parameters }: Callable): Part {
  const value = (schema: Record<string, unknown> | boolean): Part => {
    if (typeof schema === 'boolean') return { json: schema };
    if (schema['type'] === 'boolean' && !('enum' in schema) && !('const' in schema)) return { any: ['True', 'False'] };
    return { json: { ...definitions(parameters), ...schema } };
  };
  return [`${name}(`, memberParts(parameters, ', ', (key, schema) => [`${key}=`, value(schema)]), ')'];
}
