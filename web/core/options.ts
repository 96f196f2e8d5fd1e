// Options are checked by name and form before anything runs: an option that would be passed over silently is an error.
import { describe, InputError, UnsupportedError } from './errors.js';

/** What an option must be. A list: one of these strings. Absent, undefined and null mean "not given" for all of them. */
type Rule = 'string' | 'boolean' | 'number' | 'count' | 'index' | 'function' | 'signal' | 'any' | readonly string[] | Later;

interface Later {
  later: string;
  /** Values that mean "do without", which is what happens anyway. */
  off?: readonly unknown[];
}

export type Rules = Readonly<Record<string, Rule>>;

/** An option of the design that is not there yet: an UnsupportedError with this text. */
export function later(text: string, off: readonly unknown[] = [false]): Later {
  return { later: text, off };
}

function expected(rule: Exclude<Rule, Later>, value: unknown): string | undefined {
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
      return typeof value === rule ? undefined : `a ${rule}`;
  }
}

/** Throws for the first option that is unknown, not there yet or of the wrong form. where: the function's name, for messages. */
export function checkOptions(where: string, options: unknown, rules: Rules): void {
  if (options === undefined || options === null) return;
  if (typeof options !== 'object' || Array.isArray(options)) {
    throw new InputError(`${where}: expected an object of options, found ${describe(options)}`);
  }
  for (const [key, value] of Object.entries(options)) {
    const rule = Object.hasOwn(rules, key) ? rules[key] : undefined;
    if (rule === undefined) {
      throw new InputError(`${where}: unknown option '${key}'; there are ${Object.keys(rules).join(', ')}`);
    }
    if (value === undefined || value === null) continue;
    if (typeof rule === 'object' && 'later' in rule) {
      if (rule.off?.includes(value)) continue;
      throw new UnsupportedError(`${where}: option '${key}': ${rule.later}`);
    }
    const wanted = expected(rule, value);
    if (wanted !== undefined) throw new InputError(`${where}: option '${key}': expected ${wanted}, found ${describe(value)}`);
  }
}
