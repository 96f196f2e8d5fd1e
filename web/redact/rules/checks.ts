// Check digits: whether the last characters of a number follow from the others.

const kDigits = /\d/g;

/** The digits of a text as numbers. */
export const digitsOf = (text: string): number[] => (text.match(kDigits) ?? []).map(Number);

/** The sum of products with weights, which are repeated where there are fewer. */
export const weigh = (digits: readonly number[], weights: readonly number[]): number =>
  weights.reduce((sum, weight, i) => sum + weight * (digits[i] ?? 0), 0);

/** Luhn's formula: from the right, every second digit counts twice (ISO/IEC 7812-1). */
export function isLuhn(text: string): boolean {
  const digits = digitsOf(text).reverse();
  const sum = digits.reduce((total, digit, i) => total + (i % 2 === 0 ? digit : digit > 4 ? digit * 2 - 9 : digit * 2), 0);
  return digits.length > 1 && sum % 10 === 0;
}

/** The remainder of a number in decimal, of any length. */
export const remainder = (digits: string, by: number): number =>
  [...digits].reduce((rest, digit) => (rest * 10 + Number(digit)) % by, 0);

/** ISO 7064 MOD 11,10 (Germany's tax number, Croatia's OIB). */
export function isMod11And10(text: string): boolean {
  const digits = digitsOf(text);
  const product = digits.slice(0, -1).reduce((p, digit) => (((p + digit) % 10 || 10) * 2) % 11, 10);
  return (11 - product) % 10 === digits[digits.length - 1];
}

// Verhoeff: multiplication in the dihedral group of ten elements, after a permutation by position.
const times = (a: number, b: number): number =>
  a < 5 ? (b < 5 ? (a + b) % 5 : 5 + ((a + b) % 5)) : b < 5 ? 5 + ((a - b + 5) % 5) : (a - b + 5) % 5;
const kPermutation = [1, 5, 7, 6, 2, 8, 3, 0, 9, 4];

/** Verhoeff's check digit (Aadhaar). */
export function isVerhoeff(text: string): boolean {
  let permutation = Array.from({ length: 10 }, (_, i) => i);
  let sum = 0;
  for (const digit of digitsOf(text).reverse()) {
    sum = times(sum, permutation[digit] as number);
    permutation = permutation.map((_, i) => permutation[kPermutation[i] as number] as number);
  }
  return sum === 0;
}

/** Whether a day of the calendar exists; a year of two digits may be of any century. */
export function isDate(year: number, month: number, day: number): boolean {
  const last = [31, year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0 || year < 100) ? 29 : 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]; // prettier-ignore
  return day >= 1 && day <= (last[month - 1] ?? 0);
}

/** Shannon's entropy of a text's characters, in bits each. */
export function entropy(text: string): number {
  const counts = new Map<string, number>();
  for (const char of text) counts.set(char, (counts.get(char) ?? 0) + 1);
  return -[...counts.values()].reduce((sum, count) => sum + (count / text.length) * Math.log2(count / text.length), 0);
}
