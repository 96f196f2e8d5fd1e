// FunctionGemma and Gemma 4: call:name{key:<escape>text<escape>,other:1} between marks, which differ between the two.
import { UnsupportedError } from '../../core/errors.js';
import { jsonEnd, withEscapes } from './json_text.js';
import { memberParts } from './python.js';
import {
  kCharacter,
  listOf,
  mark,
  mayBecome,
  skipSpace,
  type Callable,
  type CallFormat,
  type Part,
  type Section,
} from './types.js';

interface Marks {
  open: string;
  close: string;
  quote: string;
}

class Open extends Error {}
class Wrong extends Error {}

/** Reads members and values; `quote` is around texts. */
class Values {
  constructor(
    private readonly text: string,
    public at: number,
    private readonly quote: string,
  ) {}
  peek(): string {
    this.at = skipSpace(this.text, this.at);
    const c = this.text[this.at];
    if (c === undefined) throw new Open();
    return c;
  }
  take(c: string): boolean {
    if (this.peek() !== c) return false;
    ++this.at;
    return true;
  }
  private upTo(stops: RegExp): string {
    const own = stops.exec(this.text.slice(this.at));
    if (!own) throw new Open();
    const out = this.text.slice(this.at, this.at + own.index);
    this.at += own.index;
    return out;
  }
  private quoted(quote: string): string {
    const begin = this.at + quote.length;
    const end = this.text.indexOf(quote, begin);
    if (end < 0) throw new Open();
    this.at = end + quote.length;
    return this.text.slice(begin, end);
  }
  private isQuote(): boolean {
    return this.text.startsWith(this.quote, this.at);
  }
  value(depth = 0): unknown {
    if (depth > 200) throw new Wrong();
    const c = this.peek();
    if (this.isQuote()) return this.quoted(this.quote);
    if (c === '{') return Object.fromEntries(this.members([], depth + 1));
    if (c === '[') {
      ++this.at;
      const out: unknown[] = [];
      while (!this.take(']')) {
        if (out.length > 0 && !this.take(',')) throw new Wrong();
        if (this.take(']')) break;
        out.push(this.value(depth + 1));
      }
      return out;
    }
    if (c === '"') {
      const end = jsonEnd(this.text, this.at);
      if (end < 0) throw new Open();
      const own = this.text.slice(this.at, end);
      this.at = end;
      try {
        return JSON.parse(withEscapes(own));
      } catch {
        throw new Wrong();
      }
    }
    const word = this.upTo(/[,}\]]/).trim();
    try {
      return JSON.parse(word); // a number, true, false or null
    } catch {
      return word;
    }
  }
  /** Adds the members of an object to a list, each when it is whole. */
  members(out: [string, unknown][], depth = 0): [string, unknown][] {
    if (!this.take('{')) throw new Wrong();
    while (!this.take('}')) {
      if (out.length > 0 && !this.take(',')) throw new Wrong();
      if (this.take('}')) break;
      this.peek();
      const key = this.isQuote() ? this.quoted(this.quote) : this.upTo(/[:,{}]/).trim();
      if (!this.take(':') || key === '') throw new Wrong();
      const value = this.value(depth);
      this.peek();
      out.push([key, value]);
    }
    return out;
  }
}

function read(text: string, at: number, { open, close, quote }: Marks): Section {
  const rest = text.slice(at + open.length);
  const head = /^\s*call\s*:\s*([\w.-]+)\s*(?=\{)/.exec(rest);
  if (!head) {
    const state = /^\s*(?:c|ca|cal|call(?:\s*|\s*:\s*[\w.-]*\s*))?$/.test(rest) ? 'open' : 'wrong';
    return { calls: [], end: at, state };
  }
  const values = new Values(text, at + open.length + head[0].length, quote);
  const done: [string, unknown][] = [];
  const name = head[1] as string;
  const written = () => `{${done.map(([key, value]) => `${JSON.stringify(key)}: ${JSON.stringify(value)}`).join(', ')}`;
  try {
    values.members(done);
    const call = { name, text: `${written()}}`, value: Object.fromEntries(done) };
    const end = skipSpace(text, values.at);
    if (end >= text.length || mayBecome(text, end, close)) return { calls: [call], end: text.length, state: 'open' };
    return { calls: [call], end: text.startsWith(close, end) ? end + close.length : values.at, state: 'whole' };
  } catch (error) {
    if (error instanceof Open) return { calls: [{ name, text: written() }], end: at, state: 'open' };
    if (error instanceof Wrong) return { calls: [], end: at, state: 'wrong' };
    throw error;
  }
}

const kKnown = ['type', 'properties', 'required', 'additionalProperties', 'items', 'minItems', 'enum', 'const', 'minLength', 'maxLength',
  'minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum', 'multipleOf', 'anyOf', 'oneOf', '$ref', 'nullable',
  'title', 'description', 'default', 'examples', '$schema', '$id', '$defs', 'definitions', '$comment', 'deprecated', 'readOnly']; // prettier-ignore

/** A value of a schema in Gemma's form. root: the document that `$ref` is of. */
function valuePart(schema: unknown, root: Record<string, unknown>, quote: string, depth = 0): Part {
  const text = (value: string): Part => [mark(quote), value, mark(quote)];
  const refuse = (what: string) =>
    new UnsupportedError(`tools: parameters: ${what} is not supported in the form of this model's calls`);
  if (depth > 30) throw refuse("'$ref' to a schema that it is part of");
  const own = (typeof schema === 'object' && schema !== null ? schema : {}) as Record<string, any>;
  const unknown = Object.keys(own).find((key) => !kKnown.includes(key) && !key.startsWith('x-'));
  if (unknown !== undefined || typeof schema === 'boolean') throw refuse(`keyword '${unknown ?? String(schema)}'`);
  const again = (other: unknown) => valuePart(other, root, quote, depth + 1);
  if (typeof own['$ref'] === 'string') {
    const path = own['$ref'].startsWith('#/') ? own['$ref'].slice(2).split('/') : [];
    const found = path.reduce<any>((at, key) => Object(at)[key.replaceAll('~1', '/').replaceAll('~0', '~')], root);
    if (found === undefined || path.length === 0) throw refuse(`$ref '${own['$ref']}'`);
    return again(found);
  }
  const options = own['anyOf'] ?? own['oneOf'];
  if (Array.isArray(options)) return { any: options.map(again) };
  const values = 'const' in own ? [own['const']] : (own['enum'] as unknown[] | undefined);
  if (values) return { any: values.map((value) => (typeof value === 'string' ? text(value) : JSON.stringify(value))) };
  const types: unknown[] = [own['type']].flat();
  if (own['nullable'] === true) types.push('null');
  if (types.length > 1) return { any: types.map((type) => again({ ...own, type, nullable: false })) };
  switch (types[0]) {
    case 'string': {
      const { minLength = 0, maxLength = '' } = own;
      return [mark(quote), { regex: `${kCharacter}{${minLength},${maxLength}}` }, mark(quote)];
    }
    case 'number':
    case 'integer':
    case 'boolean':
    case 'null': {
      const { minimum, maximum, exclusiveMinimum, exclusiveMaximum, multipleOf } = own;
      return { json: { type: types[0], minimum, maximum, exclusiveMinimum, exclusiveMaximum, multipleOf } };
    }
    case 'array': {
      if (own['items'] === undefined) throw refuse("an array without 'items'");
      const items = ['[', listOf(again(own['items']), ',', true), ']'];
      if ((own['minItems'] ?? 0) > 1) throw refuse("'minItems' above 1");
      return own['minItems'] === 1 ? items : { any: ['[]', items] };
    }
    case 'object':
      return ['{', memberParts(own, ',', (key, value) => [`${key}:`, again(value)]), '}'];
    default:
      throw refuse(`a value without 'type'`);
  }
}

function formatOf(name: string, marks: Marks): CallFormat {
  const { open, close, quote } = marks;
  return {
    name,
    begins: [open],
    marks: [open, close, quote],
    fits: (has) => has(open),
    read: (text, at) => read(text, at, marks),
    parts(tools, several) {
      const call = ({ name: own, parameters }: Callable): Part => [
        `call:${own}`,
        valuePart({ ...parameters, type: 'object' }, parameters, quote),
        mark(close),
      ];
      return listOf({ any: tools.map(call) }, mark(open), several);
    },
  };
}

export const functionGemma = formatOf('functiongemma', {
  open: '<start_function_call>',
  close: '<end_function_call>',
  quote: '<escape>',
});
export const gemma4 = formatOf('gemma4', { open: '<|tool_call>', close: '<tool_call|>', quote: '<|"|>' });
