// A document as it comes back from the store: read once, and only if it can be stored and found.
import { describe, InputError } from '../core/errors.js';
import { ownCopy } from '../core/options.js';
import type { IndexDocument } from './types.js';

/** Lists and objects inside each other: what stores documents and reads them again must not run out of stack, on any engine. */
const kDeepest = 200;
/** A title is read with every part of its text, so a long one takes time that grows with the square of both. */
const kLongestTitle = 10_000;
/** Above so many characters a text may be too long for the string that JSON makes of it. */
const kManyChars = 2 ** 26;

function checkDepth(where: string, value: unknown, depth = 0): void {
  if (typeof value !== 'object' || value === null) return;
  if (depth === kDeepest)
    throw new InputError(`${where}: expected at most ${kDeepest} lists and objects inside each other, found more`);
  for (const each of Object.values(value)) checkDepth(where, each, depth + 1);
}

/** What JSON makes of a field; undefined: nothing. */
function toJson(where: string, name: string, value: unknown): unknown {
  if (typeof value === 'string' || typeof value === 'boolean' || value === null) return value;
  if (Number.isFinite(value)) return (value as number) + 0; // JSON has no -0
  let out: unknown;
  try {
    const text = JSON.stringify(value);
    out = text === undefined ? undefined : JSON.parse(text);
  } catch (cause) {
    throw new InputError(`${where}: expected fields that JSON can hold, found others in '${name}': ${(cause as Error).message}`, {
      cause,
    });
  }
  checkDepth(`${where}: '${name}'`, out);
  return out;
}

/** The document's own fields, or those of what its `toJSON` gives. */
function fieldsOf(where: string, value: unknown): Record<string, unknown> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new InputError(`${where}: expected { id, text }, found ${describe(value)}`);
  }
  const { toJSON } = value as { toJSON?: unknown };
  const given = typeof toJSON === 'function' ? (toJSON as (key: string) => unknown).call(value, '') : value;
  if (typeof given === 'object' && given !== null && !Array.isArray(given)) return ownCopy(given as Record<string, unknown>);
  throw new InputError(`${where}: expected { id, text } from its toJSON, found ${describe(given)}`);
}

/** place: which it is, for messages. */
export function readDocument(value: unknown, place: string): IndexDocument {
  const at = `Index.add: ${place}`;
  const fields = fieldsOf(at, value);
  const { id, text, title } = fields;
  if (typeof id !== 'string' || id === '')
    throw new InputError(`${at}: expected 'id' to be a string with characters, found ${describe(id)}`);
  const where = `${at} ('${id}')`;
  if (typeof text !== 'string') throw new InputError(`${where}: expected 'text' to be a string, found ${describe(text)}`);
  if (title !== undefined && typeof title !== 'string') {
    throw new InputError(`${where}: expected 'title' to be a string, found ${describe(title)}`);
  }
  if (title !== undefined && title.length > kLongestTitle) {
    throw new InputError(`${where}: expected 'title' to have at most ${kLongestTitle} characters, found ${title.length}`);
  }
  const out: Record<string, unknown> = {};
  let chars = 0;
  for (const [name, field] of Object.entries(fields)) {
    const own = toJson(where, name, field);
    if (own === undefined) continue;
    if (name !== '__proto__') out[name] = own;
    else Object.defineProperty(out, name, { value: own, enumerable: true, writable: true, configurable: true });
    if (typeof own === 'string') chars += own.length;
  }
  if (chars > kManyChars) checkLength(where, out, chars);
  return out as IndexDocument;
}

/** With room for what is stored beside it. */
function checkLength(where: string, document: object, chars: number): void {
  try {
    JSON.stringify([document, ' '.repeat(2 ** 22)]);
  } catch (cause) {
    throw new InputError(`${where}: expected a document that fits into a string of JSON, found ${chars} characters`, { cause });
  }
}
