// The options of redact that choose rules.
import { describe, InputError } from '../core/errors.js';
import { readTexts } from '../core/texts.js';
import type { RedactOptions } from './redact_types.js';
import { kRuleNames, type RuleName } from './rules/rule.js';
import type { RuleSet } from './rules/rules.js';

/** Whether a text is never replaced. */
export type Allowed = (found: string) => boolean;

const isRegExp = (value: unknown): value is RegExp => Object.prototype.toString.call(value) === '[object RegExp]';

export function takeAllowed(where: string, allow: RedactOptions['allow'] | null): Allowed {
  if (allow === undefined || allow === null) return () => false;
  const list = Array.isArray(allow) ? Array.from<unknown>(allow) : [allow];
  const bad = list.find((each) => typeof each !== 'string' && !isRegExp(each));
  if (bad !== undefined) throw new InputError(`${where}: option 'allow': expected strings and RegExps, found ${describe(bad)}`);
  const texts = new Set(list.filter((each) => typeof each === 'string'));
  const patterns = list.filter(isRegExp).map(({ source, flags }) => new RegExp(`^(?:${source})$`, flags.replace(/[gy]/g, '')));
  return (found) => texts.has(found) || patterns.some((pattern) => pattern.test(found));
}

function namesOf(where: string, rules: RedactOptions['rules'] | null, none: boolean): readonly RuleName[] {
  if (rules === undefined || rules === null) return none ? [] : kRuleNames;
  if (typeof rules === 'boolean') return rules ? kRuleNames : [];
  const names = readTexts(`${where}: option 'rules'`, rules);
  const unknown = names.find((name) => !(kRuleNames as readonly string[]).includes(name));
  if (unknown !== undefined) {
    throw new InputError(`${where}: option 'rules': expected true, false or some of ${kRuleNames.join(', ')}, found '${unknown}'`);
  }
  return names as RuleName[];
}

/** none: by default there are none. */
export async function takeRules(where: string, options: RedactOptions, none: boolean): Promise<RuleSet | undefined> {
  const names = namesOf(where, options.rules, none);
  const given = options.countries;
  const countries = given === undefined || given === null ? [] : readTexts(`${where}: option 'countries'`, given);
  if (countries.length > 0) {
    const known = (await import('./rules/phones.js')).phoneCountries();
    const unknown = countries.find((country) => !known.includes(country));
    if (unknown !== undefined) {
      throw new InputError(`${where}: option 'countries': expected ISO codes such as 'DE' and 'US', found '${unknown}'`);
    }
  }
  return names.length > 0 ? (await import('./rules/rules.js')).RuleSet.load([...new Set(names)], { countries }) : undefined;
}
