// Options are checked by name and type before anything runs. An unknown option is an error: it is never ignored.
import { describe, InputError } from './errors.js';

/** Numbers from one to another, as mathematics writes it: `'[0,1)'` has 0 and not 1. NaN is in none, Infinity in `'[0,Infinity]'`. */
type Bound = number | 'Infinity' | '-Infinity';
type Range = `${'[' | '('}${Bound},${Bound}${']' | ')'}`;

/** What an option must be. A list: one of these strings. A number is not NaN. undefined and null mean "not given". */
type Rule = 'string' | 'boolean' | 'number' | 'count' | 'index' | 'function' | 'signal' | 'any' | Range | readonly string[];

export type Rules = Readonly<Record<string, Rule>>;

function expected(rule: Rule, value: unknown): string | undefined {
  if (typeof rule !== 'string') {
    const known = typeof value === 'string' && rule.includes(value);
    return known ? undefined : `one of ${rule.map((name) => `'${name}'`).join(', ')}`;
  }
  switch (rule) {
    case 'count':
    case 'index': {
      const least = rule === 'count' ? 1 : 0;
      const fits = Number.isInteger(value) && (value as number) >= least && (value as number) < 2 ** 31;
      return fits ? undefined : `a whole number from ${least} on`;
    }
    case 'signal': {
      const signal = value as { aborted?: unknown; addEventListener?: unknown };
      const fits =
        typeof signal === 'object' && typeof signal.aborted === 'boolean' && typeof signal.addEventListener === 'function';
      return fits ? undefined : 'an AbortSignal';
    }
    case 'any':
      return undefined;
    default:
      if (/\W/.test(rule)) return outside(rule as Range, value);
      return typeof value === rule && !Number.isNaN(value) ? undefined : `a ${rule}`;
  }
}

function outside(range: Range, number: unknown): string | undefined {
  const [low, high] = range.slice(1, -1).split(',').map(Number) as [number, number];
  const [isOpen, endsOpen] = [range[0] === '(', range.endsWith(')')];
  const fits = typeof number === 'number' && number >= low && number <= high;
  if (fits && !(isOpen && number === low) && !(endsOpen && number === high)) return undefined;
  if (low === -Infinity) return isOpen ? 'a finite number' : 'a number';
  const to = high < Infinity ? ` to ${endsOpen ? 'below ' : ''}${high}` : isOpen ? '' : ' on';
  return isOpen ? `a number above ${low}${to}` : `a number from ${low}${to}`;
}

/** Edits (Levenshtein) that turn one name into the other. */
function distance(a: string, b: string): number {
  let row = [0, ...b].map((_, j) => j);
  for (const letter of a) {
    let last = row[0]!;
    row = row.map((up, j) => (last = j === 0 ? up + 1 : Math.min(row[j - 1]! + Number(letter !== b[j - 1]), up + 1, last + 1)));
  }
  return row.at(-1)!;
}

/** The known name that was probably meant: at most a third of the given one differs. */
export function nearestOf(name: string, known: readonly string[]): string | undefined {
  const edits = known.map((each) => distance(name, each));
  const least = Math.min(...edits);
  return 3 * least <= name.length ? known[edits.indexOf(least)] : undefined;
}

/**
 * The error for an unknown option: names it, suggests the nearest known one (at most a third of the name differs) and lists all. more: what else is known. The
 * same text as src/nn/options.cpp.
 */
export function unknownOption(where: string, name: string, known: readonly string[], more = ''): InputError {
  const nearest = nearestOf(name, known);
  const hint = nearest === undefined ? ';' : `; did you mean '${nearest}'?`;
  const list = known.length > 0 ? `known options: ${[...known, more].filter(Boolean).join(', ')}` : 'it takes no options';
  return new InputError(`${where}: unknown option '${name}'${hint} ${list}`);
}

/** A copy of an object's own properties, each read once, without a prototype. Lists and what is no object stay as they are. */
export const ownCopy = <T>(given: T): T =>
  typeof given === 'object' && given !== null && !Array.isArray(given) ? ({ __proto__: null, ...given } as T) : given;

/**
 * The caller's options, read once: a copy of their own properties, without a prototype. So neither a getter that changes its mind nor something
 * added to `Object.prototype` changes an answer. What is not given is left out. Throws for the first option that is unknown or
 * of the wrong type. where: the function's name, for messages. rules: a list of names where the values are checked later.
 */
export function readOptions<T>(where: string, options: T, rules: Rules | readonly string[]): NonNullable<T> {
  const own = ownCopy(options ?? {}) as NonNullable<T>;
  if (typeof own !== 'object' || Array.isArray(own)) {
    throw new InputError(`${where}: expected an object of options, found ${describe(own)}`);
  }
  const names = Array.isArray(rules) ? (rules as string[]) : Object.keys(rules);
  for (const [key, value] of Object.entries(own)) {
    if (!names.includes(key)) throw unknownOption(where, key, names);
    const wanted =
      value === undefined || value === null || names === rules ? undefined : expected((rules as Rules)[key] as Rule, value);
    if (wanted !== undefined) throw new InputError(`${where}: option '${key}': expected ${wanted}, found ${describe(value)}`);
  }
  return own;
}
