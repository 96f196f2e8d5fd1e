// What a rule is.

/** What rules can find. */
export const kRuleNames = ['email', 'phone', 'iban', 'card', 'national_id', 'ip', 'mac', 'url_secret', 'key', 'crypto', 'birth_date', 'address'] as const; // prettier-ignore

/** A kind of data that rules can find. */
export type RuleName = (typeof kRuleNames)[number];

/** What a rule found. */
export interface RuleFinding {
  label: RuleName;
  start: number;
  end: number;
  /** How sure the rule is, from 0 to 1. */
  score: number;
  /** Why, in a few words. */
  reason: string;
}

export interface RuleContext {
  /** ISO codes of the countries whose phone numbers are found without a plus sign; none: those of any country that look like a phone number. */
  countries: readonly string[];
}

/** Finds in a text from `from` on; what is before serves as context. */
export type Rule = (text: string, from: number, context: RuleContext) => Iterable<RuleFinding>;

/** The characters before a place that tell what follows. */
export const kContext = 64;
export const contextOf = (text: string, place: number): string => text.slice(Math.max(0, place - kContext), place);

/** What a rule says of `found`, which begins at `start`. */
export const finding = (label: RuleName, found: string, start: number, score: number, reason: string): RuleFinding => ({
  label,
  start,
  end: start + found.length,
  score,
  reason,
});

/** Matches of a pattern with the flag g, each as its text and place. */
export function* all(
  pattern: RegExp,
  text: string,
  from: number,
): Generator<[found: string, start: number, match: RegExpMatchArray]> {
  for (const match of text.matchAll(pattern)) if (match.index >= from) yield [match[0], match.index, match];
}
