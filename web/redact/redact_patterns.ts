// The patterns of redact that have names. Each takes time linear in the text, whatever it contains.

/** Start and end of a finding. */
export type Range = [start: number, end: number];

const kLocal = /[\p{L}\p{M}\p{N}!#$%&'*+/=?^_`{|}~.-]/u;
const kDomain = /[\p{L}\p{M}\p{N}.-]/u;

/** The index of the code point that ends before an index. */
function before(text: string, index: number): number {
  const pair = index >= 2 && (text.codePointAt(index - 2) as number) > 0xffff;
  return index - (pair ? 2 : 1);
}

/** Everything around an @ that can be part of an address, if the domain has a dot. */
export function* emails(text: string): Generator<Range> {
  let from = 0;
  for (let at = text.indexOf('@'); at >= 0; at = text.indexOf('@', at + 1)) {
    let start = at;
    while (start > from && kLocal.test(text.slice(before(text, start), start))) start = before(text, start);
    let end = at + 1;
    for (let next = end; next < text.length; end = next) {
      next += (text.codePointAt(next) as number) > 0xffff ? 2 : 1;
      if (!kDomain.test(text.slice(end, next))) break;
    }
    while (text[end - 1] === '.' || text[end - 1] === '-') --end;
    const domain = text.slice(at + 1, end);
    from = at + 1 + domain.length;
    if (start < at && /[^.]\.[^.]/u.test(domain)) yield [start, from];
    else from = at + 1;
  }
}

/** Numbers whose last digit is the check digit of the others. */
function isLuhn(digits: string): boolean {
  const sum = [...digits].reverse().reduce((total, digit, i) => {
    const value = Number(digit) * (1 + (i % 2));
    return total + (value > 9 ? value - 9 : value);
  }, 0);
  return sum % 10 === 0;
}

function* cards(text: string): Generator<Range> {
  for (const { 0: found, index } of text.matchAll(/(?<!\d)\d(?:[ -]?\d){12,18}(?!\d)/g)) {
    if (isLuhn(found.replace(/\D/g, ''))) yield [index, index + found.length];
  }
}

const kPhone = /(?<![\p{L}\p{N}])(?:\+\d(?:[ ./()-]{0,3}\d){7,14}|(?:\(\d{3}\) ?|\d{3}[ .-])\d{3}[ .-]\d{4})(?![\p{L}\p{N}])/gu;

function* phones(text: string): Generator<Range> {
  for (const { 0: found, index } of text.matchAll(kPhone)) yield [index, index + found.length];
}

const kPatterns: Record<string, (text: string) => Iterable<Range>> = { email: emails, phone: phones, card: cards };

export const kPatternNames: readonly string[] = Object.keys(kPatterns);

/** The ranges of a pattern with a name. */
export const builtIn = (name: string, text: string): Iterable<Range> =>
  (kPatterns[name] as (text: string) => Iterable<Range>)(text);
