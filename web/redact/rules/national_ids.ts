// Numbers that countries give to people and companies, by their forms and check digits.
import { digitsOf, isDate, isLuhn, isMod11And10, isVerhoeff, remainder, weigh } from './checks.js';
import { all, contextOf, finding, type Rule } from './rule.js';

interface NationalId {
  name: string;
  form: RegExp;
  /** Reads the characters without separators, in upper case. */
  check: (id: string, digits: number[]) => boolean;
  /** How sure the rule is without a word that announces the number; 0: it is found only beside one. */
  alone: number;
  /** Words that announce it. */
  words?: RegExp;
}

const edge = (form: string) =>
  new RegExp(`(?<![\\p{L}\\p{N}_.,+-]|[\\p{N}][ /])(?:${form})(?![\\p{L}\\p{N}_]|[-/.,]\\p{N}| \\p{N})`, 'gu');
const at = (digits: readonly number[], i: number): number => digits[i < 0 ? digits.length + i : i] ?? -1;
const two = (digits: readonly number[], i: number): number => at(digits, i) * 10 + at(digits, i + 1);
const last11 = (sum: number): number => (11 - (sum % 11)) % 11;

/** Brazil: two check digits, of weights that fall to 2. */
function brazilian(digits: number[], first: readonly number[], second: readonly number[]): boolean {
  const check = (weights: readonly number[]) => (weigh(digits, weights) % 11 < 2 ? 0 : 11 - (weigh(digits, weights) % 11));
  const n = first.length;
  return check(first) === digits[n] && check(second) === digits[n + 1] && new Set(digits).size > 1;
}

const kDni = 'TRWAGMYFPDXBNJZSQVHLCKE';
const dni = (number: string, letter: string) => kDni[Number(number) % 23] === letter;

const kOdd = [1, 0, 5, 7, 9, 13, 15, 17, 19, 21, 2, 4, 18, 20, 11, 3, 6, 8, 12, 14, 16, 10, 22, 25, 24, 23];
/** Italy's decree of 23 December 1976: the sum of values by place gives the last letter. */
const isCodiceFiscale = (id: string): boolean =>
  [...id.slice(0, 15)].reduce((sum, char, i) => {
    const value = /\d/.test(char) ? Number(char) : char.charCodeAt(0) - 65;
    return sum + (i % 2 === 0 ? (kOdd[value] as number) : value);
  }, 0) % 26 === id.charCodeAt(15) - 65; // prettier-ignore

/** Germany: of the first ten digits one occurs twice or three times, the others once. */
function isSteuerId(id: string): boolean {
  const counts = new Map<string, number>();
  for (const digit of id.slice(0, 10)) counts.set(digit, (counts.get(digit) ?? 0) + 1);
  const repeated = [...counts.values()].filter((count) => count > 1);
  return id[0] !== '0' && repeated.length === 1 && (repeated[0] as number) <= 3 && isMod11And10(id);
}

const isPesel = (d: number[]): boolean =>
  (10 - (weigh(d, [1, 3, 7, 9, 1, 3, 7, 9, 1, 3]) % 10)) % 10 === d[10] && isDate(two(d, 0), two(d, 2) % 20, two(d, 4));

const swedish = (d: number[]): boolean => {
  const ten = d.slice(-10);
  return isLuhn(ten.join('')) && isDate(two(ten, 0), two(ten, 2), two(ten, 4) > 60 ? two(ten, 4) - 60 : two(ten, 4));
};

const norwegian = (d: number[]): boolean =>
  last11(weigh(d, [3, 7, 6, 1, 8, 9, 4, 5, 2])) === d[9] &&
  last11(weigh(d, [5, 4, 3, 2, 7, 6, 5, 4, 3, 2])) === d[10] &&
  isDate(two(d, 4), two(d, 2) > 40 ? two(d, 2) - 40 : two(d, 2), two(d, 0) > 40 ? two(d, 0) - 40 : two(d, 0));

const danish = (d: number[]): boolean => isDate(two(d, 4), two(d, 2), two(d, 0)) && weigh(d, [4, 3, 2, 7, 6, 5, 4, 3, 2, 1]) % 11 === 0; // prettier-ignore

const belgian = (id: string, d: number[]): boolean => {
  const rest = (prefix: string) => 97 - (Number(prefix + id.slice(0, 9)) % 97);
  return isDate(two(d, 0), two(d, 2) % 20, two(d, 4)) && [rest(''), rest('2')].includes(Number(id.slice(9)));
};

const turkish = (d: number[]): boolean => {
  const odd = at(d, 0) + at(d, 2) + at(d, 4) + at(d, 6) + at(d, 8);
  const even = at(d, 1) + at(d, 3) + at(d, 5) + at(d, 7);
  const sum = d.slice(0, 10).reduce((a, b) => a + b, 0);
  return d[0] !== 0 && (((odd * 7 - even) % 10) + 10) % 10 === d[9] && sum % 10 === d[10];
};

const romanian = (d: number[]): boolean => {
  const rest = weigh(d, [2, 7, 9, 1, 4, 6, 3, 5, 8, 2, 7, 9]) % 11;
  return d[0] !== 0 && isDate(two(d, 1), two(d, 3), two(d, 5)) && (rest === 10 ? 1 : rest) === d[12];
};

const czech = (id: string, d: number[]): boolean =>
  isDate(two(d, 0), ((two(d, 2) - 1) % 50) % 20 + 1, two(d, 4)) && (Number(id) % 11 === 0 || (Number(id.slice(0, 9)) % 11 === 10 && d[9] === 0)); // prettier-ignore

const bulgarian = (d: number[]): boolean =>
  isDate(two(d, 0), ((two(d, 2) - 1) % 20) + 1, two(d, 4)) && (weigh(d, [2, 4, 8, 5, 10, 9, 7, 3, 6]) % 11) % 10 === d[9];

const baltic = (d: number[]): boolean => {
  const first = weigh(d, [1, 2, 3, 4, 5, 6, 7, 8, 9, 1]) % 11;
  const check = first < 10 ? first : (weigh(d, [3, 4, 5, 6, 7, 8, 9, 1, 2, 3]) % 11) % 10;
  return at(d, 0) >= 1 && at(d, 0) <= 8 && isDate(two(d, 1), two(d, 3), two(d, 5)) && check === d[10];
};

const kFinnish = '0123456789ABCDEFHJKLMNPRSTUVWXY';

const kIds: readonly NationalId[] = [
  { name: 'US social security number', form: edge('\\d{3}([- ])\\d{2}\\1\\d{4}|\\d{9}'), check: (id) => !/^(?:000|666|9)/.test(id) && id.slice(3, 5) !== '00' && !id.endsWith('0000'), alone: 0.7, words: /\bssn\b|social sec/i }, // prettier-ignore
  { name: 'UK NHS number', form: edge('\\d{3}[ -]?\\d{3}[ -]?\\d{4}'), check: (_, d) => last11(weigh(d, [10, 9, 8, 7, 6, 5, 4, 3, 2])) === d[9], alone: 0, words: /\bnhs\b/i }, // prettier-ignore
  { name: 'UK national insurance number', form: edge('(?!BG|GB|KN|NK|NT|TN|ZZ)[A-CEGHJ-PR-TW-Z][A-CEGHJ-NPR-TW-Z] ?\\d{2} ?\\d{2} ?\\d{2} ?[A-D]'), check: () => true, alone: 0.8 }, // prettier-ignore
  { name: 'German tax number', form: edge('\\d{2} ?\\d{3} ?\\d{3} ?\\d{3}'), check: isSteuerId, alone: 0, words: /steuer|identifikationsnummer|\bidnr|tax id|\btin\b/i }, // prettier-ignore
  { name: 'French NIR', form: edge('[12] ?\\d{2} ?(?:0[1-9]|1[0-2]|[2-9]\\d) ?(?:\\d{2}|2[AB]) ?\\d{3} ?\\d{3} ?\\d{2}'), check: (id) => 97 - remainder(id.slice(0, 13).replace('2A', '19').replace('2B', '18'), 97) === Number(id.slice(13)), alone: 0.85 }, // prettier-ignore
  { name: 'Spanish DNI', form: edge('\\d{8}[ -]?[A-Z]'), check: (id) => dni(id.slice(0, 8), id[8] as string), alone: 0.8 },
  { name: 'Spanish NIE', form: edge('[XYZ][ -]?\\d{7}[ -]?[A-Z]'), check: (id) => dni('XYZ'.indexOf(id[0] as string) + id.slice(1, 8), id[8] as string), alone: 0.85 }, // prettier-ignore
  { name: 'Italian codice fiscale', form: edge('[A-Za-z]{6}\\d{2}[A-EHLMPR-Ta-ehlmpr-t]\\d{2}[A-Za-z]\\d{3}[A-Za-z]'), check: isCodiceFiscale, alone: 0.95 }, // prettier-ignore
  { name: 'Dutch BSN', form: edge('\\d{9}|\\d{4}\\.\\d{2}\\.\\d{3}'), check: (_, d) => weigh(d, [9, 8, 7, 6, 5, 4, 3, 2, -1]) % 11 === 0 && new Set(d).size > 1, alone: 0, words: /\bbsn\b|burgerservice|sofi/i }, // prettier-ignore
  { name: 'Belgian national number', form: edge('\\d{2}\\.\\d{2}\\.\\d{2}-\\d{3}\\.\\d{2}|\\d{11}'), check: belgian, alone: 0.6, words: /rijksregister|registre national|\bnrn\b|\binsz\b|\bniss\b/i }, // prettier-ignore
  { name: 'Polish PESEL', form: edge('\\d{11}'), check: (_, d) => isPesel(d), alone: 0, words: /pesel/i },
  { name: 'Swedish personal number', form: edge('(?:\\d{2})?\\d{6}[-+]\\d{4}|\\d{12}'), check: (_, d) => swedish(d), alone: 0.8, words: /person-?nummer|personnr/i }, // prettier-ignore
  {
    name: 'Norwegian birth number',
    form: edge('\\d{6} ?\\d{5}'),
    check: (_, d) => norwegian(d),
    alone: 0.7,
    words: /f[øo]dsels|personnummer/i,
  },
  { name: 'Finnish identity code', form: edge('\\d{6}[-+ABCDEFUVWXY]\\d{3}[0-9A-FHJ-NPR-Y]'), check: (id, d) => isDate(two(d, 4), two(d, 2), two(d, 0)) && kFinnish[Number(id.slice(0, 6) + id.slice(-4, -1)) % 31] === id.slice(-1), alone: 0.9 }, // prettier-ignore
  {
    name: 'Danish CPR number',
    form: edge('\\d{6}-\\d{4}|\\d{10}'),
    check: (_, d) => danish(d),
    alone: 0.7,
    words: /\bcpr\b|personnummer/i,
  },
  { name: 'Portuguese NIF', form: edge('[1-35689]\\d{2} ?\\d{3} ?\\d{3}'), check: (_, d) => (last11(weigh(d, [9, 8, 7, 6, 5, 4, 3, 2])) % 10) === d[8], alone: 0, words: /\bnif\b|contribuinte|fiscal/i }, // prettier-ignore
  { name: 'Swiss AHV number', form: edge('756\\.\\d{4}\\.\\d{4}\\.\\d{2}|756\\d{10}'), check: (_, d) => (10 - (weigh(d, [1, 3, 1, 3, 1, 3, 1, 3, 1, 3, 1, 3]) % 10)) % 10 === d[12], alone: 0.9 }, // prettier-ignore
  { name: 'Austrian insurance number', form: edge('\\d{4} ?\\d{6}'), check: (_, d) => weigh(d, [3, 7, 9, 0, 5, 8, 4, 2, 1, 6]) % 11 === d[3], alone: 0, words: /sozialversicherung|\bsvnr|\bsv-?nummer/i }, // prettier-ignore
  { name: 'Irish PPS number', form: edge('\\d{7}[A-W][A-IW]?'), check: (id, d) => 'WABCDEFGHIJKLMNOPQRSTUV'[(weigh(d, [8, 7, 6, 5, 4, 3, 2]) + 9 * (id[8] && id[8] !== 'W' ? id.charCodeAt(8) - 64 : 0)) % 23] === id[7], alone: 0.6 }, // prettier-ignore
  { name: 'Brazilian CPF', form: edge('\\d{3}\\.\\d{3}\\.\\d{3}-\\d{2}|\\d{11}'), check: (_, d) => brazilian(d, [10, 9, 8, 7, 6, 5, 4, 3, 2], [11, 10, 9, 8, 7, 6, 5, 4, 3, 2]), alone: 0.9, words: /\bcpf\b/i }, // prettier-ignore
  { name: 'Brazilian CNPJ', form: edge('\\d{2}\\.\\d{3}\\.\\d{3}/\\d{4}-\\d{2}|\\d{14}'), check: (_, d) => brazilian(d, [5, 4, 3, 2, 9, 8, 7, 6, 5, 4, 3, 2], [6, 5, 4, 3, 2, 9, 8, 7, 6, 5, 4, 3, 2]), alone: 0.9, words: /\bcnpj\b/i }, // prettier-ignore
  { name: 'Indian Aadhaar', form: edge('[2-9]\\d{3}([ -]?)\\d{4}\\1\\d{4}'), check: (id) => isVerhoeff(id), alone: 0.7, words: /aadhaar|aadhar|आधार|\buid/i }, // prettier-ignore
  { name: 'Indian PAN', form: edge('[A-Z]{3}[ABCFGHLJPT][A-Z]\\d{4}[A-Z]'), check: () => true, alone: 0.7 },
  { name: 'Chinese resident number', form: edge('[1-9]\\d{5}(?:19|20)\\d{9}[\\dXx]'), check: (id, d) => isDate(two(d, 6) * 100 + two(d, 8), two(d, 10), two(d, 12)) && '10X98765432'[weigh(d, [7, 9, 10, 5, 8, 4, 2, 1, 6, 3, 7, 9, 10, 5, 8, 4, 2]) % 11] === id[17], alone: 0.97 }, // prettier-ignore
  { name: 'Japanese My Number', form: edge('\\d{4}[ -]?\\d{4}[ -]?\\d{4}'), check: (_, d) => { const rest = weigh(d, [6, 5, 4, 3, 2, 7, 6, 5, 4, 3, 2]) % 11; return (rest < 2 ? 0 : 11 - rest) === d[11]; }, alone: 0, words: /my number|マイナンバー|個人番号/i }, // prettier-ignore
  { name: 'Korean resident number', form: edge('\\d{6}-[1-8]\\d{6}|\\d{6}[1-8]\\d{6}'), check: (_, d) => isDate(two(d, 0), two(d, 2), two(d, 4)) && (last11(weigh(d, [2, 3, 4, 5, 6, 7, 8, 9, 2, 3, 4, 5])) % 10) === d[12], alone: 0.85, words: /주민|resident reg|\brrn\b/i }, // prettier-ignore
  { name: 'Australian tax file number', form: edge('\\d{3} ?\\d{3} ?\\d{2,3}'), check: (_, d) => weigh(d, [1, 4, 3, 7, 5, 8, 6, 9, 10]) % 11 === 0 && d.length === 9, alone: 0, words: /\btfn\b|tax file/i }, // prettier-ignore
  { name: 'Australian Medicare number', form: edge('[2-6]\\d{3} ?\\d{5} ?\\d(?:[ /-]?\\d)?'), check: (_, d) => weigh(d, [1, 3, 7, 9, 1, 3, 7, 9]) % 10 === d[8], alone: 0, words: /medicare/i }, // prettier-ignore
  { name: 'Canadian social insurance number', form: edge('[1-9]\\d{2}([ -]?)\\d{3}\\1\\d{3}'), check: (id) => isLuhn(id), alone: 0, words: /\bsin\b|social insurance|\bnas\b|assurance sociale/i }, // prettier-ignore
  { name: 'South African identity number', form: edge('\\d{6} ?\\d{4} ?[01]\\d{2}'), check: (id, d) => isLuhn(id) && isDate(two(d, 0), two(d, 2), two(d, 4)), alone: 0.6, words: /\brsa id|\bid\b|identity/i }, // prettier-ignore
  { name: 'Turkish identity number', form: edge('[1-9]\\d{10}'), check: (_, d) => turkish(d), alone: 0, words: /kimlik|\btckn?\b|\btc\b|t\.c\./i }, // prettier-ignore
  { name: 'Romanian CNP', form: edge('[1-9]\\d{12}'), check: (_, d) => romanian(d), alone: 0, words: /\bcnp\b/i },
  { name: 'Czech or Slovak birth number', form: edge('\\d{6}/\\d{4}'), check: czech, alone: 0.8 },
  { name: 'Bulgarian EGN', form: edge('\\d{10}'), check: (_, d) => bulgarian(d), alone: 0, words: /\begn\b|егн/i },
  {
    name: 'Baltic personal code',
    form: edge('[1-8]\\d{10}'),
    check: (_, d) => baltic(d),
    alone: 0,
    words: /isikukood|asmens kod|personal code/i,
  },
  { name: 'Croatian OIB', form: edge('\\d{11}'), check: (id) => isMod11And10(id), alone: 0, words: /\boib\b/i },
  { name: 'Russian INN', form: edge('\\d{12}'), check: (_, d) => (weigh(d, [7, 2, 4, 10, 3, 5, 9, 4, 6, 8]) % 11) % 10 === d[10] && (weigh(d, [3, 7, 2, 4, 10, 3, 5, 9, 4, 6, 8]) % 11) % 10 === d[11], alone: 0, words: /инн|\binn\b/i }, // prettier-ignore
  { name: 'Russian SNILS', form: edge('\\d{3}-\\d{3}-\\d{3}[ -]\\d{2}'), check: (id, d) => (weigh(d, [9, 8, 7, 6, 5, 4, 3, 2, 1]) % 101) % 100 === Number(id.slice(9)), alone: 0.9 }, // prettier-ignore
  { name: 'Chilean RUT', form: edge('\\d{1,2}\\.\\d{3}\\.\\d{3}-[\\dKk]'), check: (id, d) => { const n = id.length - 1; const rest = last11(weigh(d.slice(0, n).reverse(), [2, 3, 4, 5, 6, 7, 2, 3])); return (rest === 10 ? 'K' : String(rest)) === id[n]; }, alone: 0.85 }, // prettier-ignore
  { name: 'Argentinian CUIT', form: edge('(?:2[0347]|3[034])-\\d{8}-\\d'), check: (_, d) => last11(weigh(d, [5, 4, 3, 2, 7, 6, 5, 4, 3, 2])) === d[10], alone: 0.85 }, // prettier-ignore
  {
    name: 'Israeli identity number',
    form: edge('\\d{8}-?\\d'),
    check: (id) => isLuhn(id),
    alone: 0,
    words: /teudat|ת\.?ז|israeli id|תעודת/i,
  },
  { name: 'Singaporean NRIC', form: edge('[STFG]\\d{7}[A-Z]'), check: (id, d) => { const sum = weigh(d, [2, 7, 6, 5, 4, 3, 2]) + (/[TG]/.test(id) ? 4 : 0); return (/[ST]/.test(id[0] as string) ? 'JZIHGFEDCBA' : 'XWUTRQPNMLK')[sum % 11] === id[8]; }, alone: 0.85 }, // prettier-ignore
  { name: 'Taiwanese identity number', form: edge('[A-Z][1289]\\d{8}'), check: (id, d) => { const n = 'ABCDEFGHJKLMNPQRSTUVXYWZIO'.indexOf(id[0] as string) + 10; return (Math.floor(n / 10) + (n % 10) * 9 + weigh(d, [8, 7, 6, 5, 4, 3, 2, 1, 1])) % 10 === 0; }, alone: 0.75 }, // prettier-ignore
  { name: 'Thai identity number', form: edge('[1-8]-\\d{4}-\\d{5}-\\d{2}-\\d|[1-8]\\d{12}'), check: (_, d) => last11(weigh(d, [13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2])) % 10 === d[12], alone: 0.85, words: /บัตรประชาชน|เลขประจำตัว|thai id/i }, // prettier-ignore
  { name: 'Mexican CURP', form: edge('[A-Z]{4}\\d{6}[HMX][A-Z]{5}[A-Z0-9]\\d'), check: (id, d) => isDate(two(d, 0), two(d, 2), two(d, 4)) && (10 - ([...id.slice(0, 17)].reduce((sum, char, i) => sum + '0123456789ABCDEFGHIJKLMNÑOPQRSTUVWXYZ'.indexOf(char) * (18 - i), 0) % 10)) % 10 === Number(id[17]), alone: 0.97 }, // prettier-ignore
];

export const nationalIds: Rule = function* (text, from) {
  for (const { name, form, check, alone, words } of kIds) {
    for (const [found, start] of all(form, text, from)) {
      const id = found.replace(/[ ./+-]/g, '').toUpperCase();
      if (!check(id, digitsOf(id))) continue;
      const told = words?.test(contextOf(text, start)) === true;
      // A number without separators is found by itself only where the country has no other form of it.
      const bare = words !== undefined && !/\D/.test(found);
      if (!told && (alone === 0 || bare)) continue;
      yield finding('national_id', found, start, told ? 0.95 : alone, name);
    }
  }
};
