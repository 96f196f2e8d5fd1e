// Which documents a search may return: a function, or fields and what they must be, in the spelling of MongoDB and of vector stores.
//
// A filter decides who sees what, so all that is not understood is an error before any document is returned.
import { checkAnswer } from '../core/answers.js';
import { describe, InputError } from '../core/errors.js';
import { warnOnce } from '../core/warn.js';
import type { Filter, IndexDocument } from './types.js';

/** The value of a field, if the document has it: a list counts by its items. */
type Test = (values: readonly unknown[], isThere: boolean) => boolean;
export type Keep = (document: IndexDocument) => boolean;

/** A filter that was read: which documents it keeps, and the fields that it looks for, which some document should have. */
export interface ReadFilter {
  keep: Keep;
  fields: ReadonlySet<string>;
}

const kWhere = "Index.search: option 'filter'";
const kOperators = ['$eq', '$ne', '$in', '$nin', '$gt', '$gte', '$lt', '$lte', '$exists', '$not'];
const kJoining = ['$and', '$or', '$not'];
/** Filters inside filters. */
const kDeepest = 100;

const wrong = (where: string, expected: string, found: string) => new InputError(`${where}: expected ${expected}, found ${found}`);

/** The properties of a plain object, each read once; undefined for anything else. */
function entriesOf(value: unknown): [name: string, value: unknown][] | undefined {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined;
  const prototype = Object.getPrototypeOf(value) as object | null;
  if (prototype !== null && Object.getPrototypeOf(prototype) !== null) return undefined; // null or Object.prototype, of any realm
  if (Object.prototype.toString.call(value) !== '[object Object]') return undefined;
  return Reflect.ownKeys(value).map((name) => {
    if (typeof name === 'string') return [name, (value as Record<string, unknown>)[name]];
    throw wrong(kWhere, 'names of fields', `a symbol (${String(name)})`);
  });
}

/** What equals a value of JSON. */
function toValue(where: string, value: unknown): unknown {
  const isScalar = value === null || typeof value === 'string' || typeof value === 'boolean' || Number.isFinite(value);
  if (isScalar) return value;
  const hint = value instanceof Date ? '; documents store a Date as its JSON text' : '';
  throw wrong(where, 'a string, a finite number, a boolean or null', describe(value) + hint);
}

function toList(where: string, given: unknown): ReadonlySet<unknown> {
  if (!Array.isArray(given)) throw wrong(where, 'an array of values', describe(given));
  return new Set(Array.from({ length: given.length }, (_, i) => toValue(`${where}[${i}]`, given[i])));
}

/** Compares with values of the same type alone, as MongoDB does. */
function toOrder(where: string, bound: unknown, fits: (value: any, bound: any) => boolean): Test {
  const isOrdered = typeof bound === 'string' || (typeof bound === 'number' && !Number.isNaN(bound));
  if (!isOrdered) throw wrong(where, 'a number or a string', describe(bound));
  return (values) => values.some((value) => typeof value === typeof bound && fits(value, bound));
}

/** The test of one operator. */
function toTest(where: string, name: string, given: unknown, depth: number): Test {
  switch (name) {
    case '$eq':
    case '$ne': {
      const wanted = toValue(where, given);
      return name === '$eq' ? (values) => values.includes(wanted) : (values) => !values.includes(wanted);
    }
    case '$in':
    case '$nin': {
      const list = toList(where, given);
      return (values) => values.some((value) => list.has(value)) === (name === '$in');
    }
    case '$gt':
      return toOrder(where, given, (value, bound) => value > bound);
    case '$gte':
      return toOrder(where, given, (value, bound) => value >= bound);
    case '$lt':
      return toOrder(where, given, (value, bound) => value < bound);
    case '$lte':
      return toOrder(where, given, (value, bound) => value <= bound);
    case '$exists':
      if (typeof given !== 'boolean') throw wrong(where, 'true or false', describe(given));
      return (_, isThere) => isThere === given;
    case '$not': {
      const test = toFieldTest(where, given, depth + 1).test;
      return (values, isThere) => !test(values, isThere);
    }
    default:
      throw wrong(where, `one of the operators ${kOperators.join(', ')}`, `'${name}'`);
  }
}

/** What a field must be: a value, one of a list, or what operators say. isSought: whether a document without the field is no surprise. */
function toFieldTest(where: string, given: unknown, depth: number): { test: Test; isSought: boolean } {
  if (depth > kDeepest) throw wrong(where, `at most ${kDeepest} filters inside each other`, 'more');
  if (Array.isArray(given)) return { test: toTest(where, '$in', given, depth), isSought: true };
  const operators = entriesOf(given);
  if (!operators) return { test: toTest(where, '$eq', given, depth), isSought: true };
  if (operators.length === 0) throw wrong(where, 'a value, an array of values, or operators', 'an empty object');
  const field = operators.find(([name]) => !name.startsWith('$'));
  if (field) throw wrong(where, `operators (${kOperators.join(', ')})`, `'${field[0]}': a field's value is not an object`);
  const tests = operators.map(([name, value]) => toTest(`${where}: ${name}`, name, value, depth));
  return {
    test: (values, isThere) => tests.every((test) => test(values, isThere)),
    isSought: operators.some(([name]) => name !== '$exists'),
  };
}

function ofFields(where: string, given: [string, unknown][], fields: Set<string>, depth: number): Keep {
  const tests = given.map(([name, value]): Keep => {
    const own = `${where}: ${name}`;
    if (name === '$and' || name === '$or') {
      if (!Array.isArray(value) || value.length === 0) throw wrong(own, 'an array of filters', describe(value));
      const all = Array.from({ length: value.length }, (_, i) => toKeep(`${own}[${i}]`, value[i], fields, depth + 1));
      return name === '$and' ? (document) => all.every((keep) => keep(document)) : (document) => all.some((keep) => keep(document));
    }
    if (name === '$not') {
      const keep = toKeep(own, value, fields, depth + 1);
      return (document) => !keep(document);
    }
    if (name.startsWith('$')) {
      const hint = kOperators.includes(name) ? `; it belongs inside a field: { field: { ${name}: .. } }` : '';
      throw wrong(where, `fields, or ${kJoining.join(', ')}`, `'${name}'${hint}`);
    }
    const { test, isSought } = toFieldTest(own, value, depth);
    if (isSought) fields.add(name);
    return (document) => {
      const isThere = Object.hasOwn(document, name);
      const found = isThere ? document[name] : undefined;
      return test(Array.isArray(found) ? found : isThere ? [found] : [], isThere);
    };
  });
  return (document) => tests.every((test) => test(document));
}

/** A function is asked as it is; those that cannot answer at once are refused before they are asked. */
function ofFunction(where: string, filter: (document: IndexDocument) => unknown): Keep {
  const kind = Object.prototype.toString.call(filter).slice(8, -1);
  if (kind !== 'Function') throw wrong(where, 'a function that returns true or false at once', `one of another kind (${kind})`);
  return (document) => checkAnswer(where, filter(document), 'true or false', (value) => typeof value === 'boolean');
}

function toKeep(where: string, given: unknown, fields: Set<string>, depth: number): Keep {
  if (depth > kDeepest) throw wrong(where, `at most ${kDeepest} filters inside each other`, 'more');
  if (typeof given === 'function') return ofFunction(where, given as (document: IndexDocument) => unknown);
  const entries = entriesOf(given);
  if (!entries) throw wrong(where, 'a function or an object of fields', describe(given));
  return ofFields(where, entries, fields, depth);
}

/** Reads the option. */
export function toFilter(filter: Filter | null | undefined): ReadFilter | undefined {
  if (filter === undefined || filter === null) return undefined;
  const fields = new Set<string>();
  return { keep: toKeep(kWhere, filter, fields, 0), fields };
}

/** Says once of each field that no document has: it finds nothing, and may be misspelt. */
export function warnOfUnknown({ fields }: ReadFilter, index: string, documents: Iterable<{ document: IndexDocument }>): void {
  const unknown = new Set(fields);
  let isEmpty = true;
  for (const { document } of documents) {
    isEmpty = false;
    for (const name of unknown) if (Object.hasOwn(document, name)) unknown.delete(name);
    if (unknown.size === 0) return;
  }
  if (isEmpty) return;
  for (const name of unknown) warnOnce(`${kWhere}: no document of '${index}' has the field '${name}'`);
}
