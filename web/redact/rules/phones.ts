// Phone numbers, by the countries' numbering plans and by the ways in which they are written.
import { kPhoneTable } from './phone_table.js';
import { isDate } from './checks.js';
import { contextOf, type Rule, type RuleFinding } from './rule.js';

interface Plan {
  country: string;
  code: string;
  /** What is dialled before a number at home; empty: nothing. */
  trunk: string;
  lengths: readonly number[];
  pattern: RegExp;
}

let plans: readonly Plan[] | undefined;
const byCode = new Map<string, Plan[]>();

/** The plans of all countries, read on first use. */
function allPlans(): readonly Plan[] {
  if (plans) return plans;
  plans = kPhoneTable.split('\n').map((line) => {
    const [country, code, trunk, lengths, pattern] = line.split(' ') as [string, string, string, string, string];
    return { country, code, trunk, lengths: lengths.split(',').map(Number), pattern: new RegExp(`^(?:${pattern})$`) };
  });
  for (const plan of plans) byCode.set(plan.code, [...(byCode.get(plan.code) ?? []), plan]);
  return plans;
}

/** ISO codes of the countries that have a plan. */
export const phoneCountries = (): string[] =>
  [...new Set(allPlans().map(({ country }) => country))].filter((country) => country !== '-');

const follows = (plan: Plan, number: string): boolean => plan.lengths.includes(number.length) && plan.pattern.test(number);

/** What follows a plus sign or 00: whether it begins with a calling code, and whether it follows a plan of that code. */
function international(digits: string): 'plan' | 'code' | undefined {
  allPlans();
  for (let length = 1; length <= 3; ++length) {
    const own = byCode.get(digits.slice(0, length));
    if (!own) continue;
    const rest = digits.slice(length);
    const numbers = [rest, ...own.flatMap(({ trunk }) => (trunk && rest.startsWith(trunk) ? [rest.slice(trunk.length)] : []))];
    return own.some((plan) => numbers.some((number) => follows(plan, number))) ? 'plan' : 'code';
  }
  return undefined;
}

/** Whether a number as it is dialled at home follows a country's plan. */
const national = (digits: string, plan: Plan): boolean =>
  follows(plan, digits) || (plan.trunk !== '' && digits.startsWith(plan.trunk) && follows(plan, digits.slice(plan.trunk.length)));

// What comes before and after must not be a part of a longer number or word. Scripts without spaces are letters on their own.
const kWordChar = '[\\p{Script=Latin}\\p{Script=Cyrillic}\\p{Script=Greek}\\p{N}_]';
const kNumber = new RegExp(
  `(?<!${kWordChar}|[.,$€£¥#&@]|\\d[/-])(?:\\+ ?|\\(\\+ ?|\\()?\\d(?:\\)?[ \\u00a0.\\-/()\\u2010-\\u2014]{0,3}\\d){4,19}(?:[ ,;]{0,2}(?:x|[Ee]xt\\.?|#)[ .:]?\\d{1,6})?(?!${kWordChar}|%|[$€£¥@]|[-/,.]\\d)`,
  'gu',
);
const kWords = /phone|\bfone\b|\btel\b|\btel[.:é]|t[eé]l[eé]?f|\bcall|\bcell|mobil|\bm[oó]vil|\bfax\b|whats ?app|\bsms\b|\btext me|\bring\b|\bdial|contact|\breach|hotline|telegram|signal|\bph\b|\bgsm\b|appel|portable|joindre|rufnummer|\bruf|handy|anruf|llam|celular|cellulare|chiam|ligue|ligar|\bbel\b|bellen|numer|numéro|nummer|número|\bring|puhelin|\bpuh\b|kom[oó]rk|zadzwo|telefon|\barayın|\bcep\b|zavol|hív|sunați|тел|звон|моб|номер|τηλ|κινητ|電話|电话|手机|手機|携帯|联系|連絡|전화|휴대|연락|फ़ोन|फोन|मोबाइल|संपर्क|هاتف|جوال|اتصل|تلفن|موبایل|تماس|טלפון|נייד|điện thoại|sđt|gọi|โทร|hubungi|telepon|\bhp\b/iu; // prettier-ignore
const kOthers = /isbn|issn|order|invoice|\bref|ticket|serial|\bsku|part|version|timestamp|price|total|\bdoi\b|article|model|account|iban|\bid\b|\bids\b|patent|population|lat|lon|€|\$|£|build|commit|hash|bytes|pages|bestell|rechnung|commande|pedido/iu; // prettier-ignore

/** Dates, times and numbers in groups of thousands. */
function isOther(found: string): boolean {
  const [, a, b, c] = /^(\d{1,4})[-./ ](\d{1,2})[-./ ](\d{1,4})(?!\d)/.exec(found)?.map(Number) ?? [];
  if (a !== undefined && b !== undefined && c !== undefined) {
    if (isDate(a, b, c) && a > 999) return true;
    if (c > 999 && c < 2200 && (isDate(c, b, a) || isDate(c, a, b))) return true;
  }
  return /^(?:19|20)\d\d ?[-–—/] ?(?:19|20)\d\d$/.test(found) || /^\d{1,3}(?:\.\d{3})+$/.test(found) || /^\d+\.\d+$/.test(found) || /^\d{1,3}(?:\.\d{1,3}){3}$/.test(found); // prettier-ignore
}

const kAmerican = /^(?:(?:1|001)[-. ]?)?(?:\(\d{3}\)[ -]?|\d{3}([-. ]))\d{3}[-. ]\d{4}$/;
const isIsbn = (digits: string): boolean => digits.length === 10 && [...digits].reduce((sum, digit, i) => sum + Number(digit) * (10 - i), 0) % 11 === 0; // prettier-ignore

type Judged = Pick<RuleFinding, 'score' | 'reason'>;

/** Why a text is a phone number; undefined: it is none. */
function judge(found: string, before: string, isTold: () => boolean, countries: readonly string[]): Judged | undefined {
  const [main] = found.split(/[ ,;]{0,2}(?:x|[Ee]xt\.?|#)/) as [string];
  const digits = main.replace(/\D/g, '');
  const opened = main.split('(').length;
  if (opened !== main.split(')').length || digits.length < 5 || digits.length > 17 || /^(\d)\1+$/.test(digits)) return undefined;
  const hasWord = isTold();
  if (/^\(?\+/.test(main)) {
    const kind = international(digits.replace(/^(\d{1,3}?)$/, '$1'));
    if (kind === 'plan') return { score: 0.97, reason: 'phone number: plus sign, and its country’s numbering plan' };
    return kind === 'code' && digits.length > 6 && digits.length < 16 ? { score: hasWord ? 0.85 : 0.7, reason: 'phone number: plus sign and calling code' } : undefined; // prettier-ignore
  }
  if (isOther(main)) return undefined;
  const separated = /\D/.test(main);
  if (digits.startsWith('00') && (separated || hasWord) && digits.length > 9 && international(digits.slice(2)) === 'plan') {
    return { score: 0.85, reason: 'phone number: 00, and its country’s numbering plan' };
  }
  const isAnother = kOthers.test(before.slice(-24)) && !hasWord;
  if (isAnother) return undefined;
  const chosen = countries.length > 0 ? allPlans().filter(({ country }) => countries.includes(country)) : [];
  const plan = chosen.find((one) => national(digits, one));
  if (plan) return { score: hasWord ? 0.95 : 0.8, reason: `phone number: numbering plan of ${plan.country}` };
  if (hasWord && digits.length >= (separated ? 6 : 7) && digits.length < 16) return { score: 0.85, reason: 'phone number: digits after a word for phones' }; // prettier-ignore
  if (kAmerican.test(main)) return { score: 0.75, reason: 'phone number: three, three and four digits' };
  if (!separated && /^1[3-9]\d{9}$/.test(digits)) return { score: 0.5, reason: 'phone number: mobile number of China' };
  if (!digits.startsWith('0') || digits.length < 9 || digits.length > 12) return undefined;
  if (separated)
    return /^\(?0\d/.test(main) ? { score: 0.6, reason: 'phone number: digits in groups that begin with 0' } : undefined;
  if (digits.length > 11 || isIsbn(digits)) return undefined;
  return allPlans().some((one) => one.trunk === '0' && national(digits, one)) ? { score: 0.5, reason: 'phone number: 0 and a numbering plan' } : undefined; // prettier-ignore
}

/** Parts of a row of digit groups: the whole, then without its last groups, then the rest. */
const kMostGroups = 8;

function* within(found: string, start: number, text: string, countries: readonly string[]): Generator<RuleFinding> {
  const groups = [...found.matchAll(/[^ \u00a0]+/g)].map(({ 0: group, index }) => [index, index + group.length] as const);
  for (let first = 0; first < groups.length;) {
    let next = first + 1;
    const before = contextOf(text, start + ((groups[first] as readonly number[])[0] as number)).slice(-48);
    let told: boolean | undefined;
    const hasWord = () => (told ??= kWords.test(before));
    for (let last = Math.min(groups.length, first + kMostGroups) - 1; last >= first; --last) {
      const [a, end] = [(groups[first] as readonly number[])[0] as number, (groups[last] as readonly number[])[1] as number];
      // A point or a stroke at the end belongs to the sentence.
      const b = end - (/[.\-/(]*$/.exec(found.slice(a, end)) as RegExpExecArray)[0].length;
      const judged = judge(found.slice(a, b), before, hasWord, countries);
      if (!judged) continue;
      yield { label: 'phone', start: start + a, end: start + b, ...judged };
      next = last + 1;
      break;
    }
    first = next;
  }
}

export const phones: Rule = function* (text, from, { countries }) {
  for (const match of text.matchAll(kNumber)) {
    if (match.index >= from) yield* within(match[0], match.index, text, countries);
  }
};
