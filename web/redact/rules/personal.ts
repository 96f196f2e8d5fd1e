// Dates of birth beside a word that says so, and postal addresses by the forms of their streets and codes.
import { isDate } from './checks.js';
import { all, contextOf, type Rule } from './rule.js';

const kBirth = /\bborn\b|birth|\bd\.?o\.?b\b|\bb-?day|geboren|\bgeb\.|geburts|\bnée?\b|naissance|nacid[oa]|nacimiento|nacque|\bnat[oa]\b|nascita|nascid[oa]|nascimento|geboorte|urodzon|urodzenia|\bur\. |\bföd|\bfødt|fødsels|födelse|synty|doğum|рожд|родил|народж|narozen|narodenia|született|născut|nașterii|rođen|γεννή|出生|生年月日|生日|誕生|생년월일|출생|ngày sinh|sinh ngày|tanggal lahir|lahir|ميلاد|تولد|לידה|जन्म|เกิด/iu; // prettier-ignore
const kNumeric = /(?<![\p{N}.,/-])(?:(\d{4})[-./年년] ?(\d{1,2})[-./月월] ?(\d{1,2})[日일]?|(\d{1,2})([-./ ]) ?(\d{1,2})\5 ?(\d{4}|\d{2}))(?![\p{N}]|[-/,.]\d)/gu; // prettier-ignore
const kNamed = /(?<![\p{L}\p{N}])(?:\d{1,2}(?:st|nd|rd|th|er|º|\.)? (?:de |of )?\p{L}{3,12}\.?,? (?:de )?\d{4}|\p{L}{3,12}\.? \d{1,2}(?:st|nd|rd|th)?,? \d{4})(?![\p{L}\p{N}])/gu; // prettier-ignore

export const birthDates: Rule = function* (text, from) {
  const made = (start: number, found: string) => ({ label: 'birth_date' as const, start, end: start + found.length, score: 0.9, reason: 'date after a word for birth' }); // prettier-ignore
  for (const [found, start, [, year, month, day, first, , second, last]] of all(kNumeric, text, from)) {
    if (!kBirth.test(contextOf(text, start).slice(-40))) continue;
    const exists = year ? isDate(+year, Number(month), Number(day)) : isDate(Number(last), Number(second), Number(first)) || isDate(Number(last), Number(first), Number(second)); // prettier-ignore
    if (exists) yield made(start, found);
  }
  for (const [found, start] of all(kNamed, text, from))
    if (kBirth.test(contextOf(text, start).slice(-40))) yield made(start, found);
};

const kName = "\\p{Lu}[\\p{L}'’.-]{0,24}";
const kNames = (most: number) => `(?:${kName} ){1,${most}}`;
const kSmall = "(?:de la |de l['’]|de los |de las |de |du |des |d['’]|la |le |les |l['’]|del |della |dell['’]|delle |dei |da |do |dos |das |di |San |van de |van der |van )?"; // prettier-ignore
const kCity = `(?:${kName}(?: (?:am |an der |im |sur |les |la |de )?${kName}){0,3})`;
const kStreets =
  'Street|St|Avenue|Ave|Av|Road|Rd|Boulevard|Blvd|Lane|Ln|Drive|Dr|Court|Ct|Square|Sq|Place|Pl|Terrace|Ter|Way|Highway|Hwy|Parkway|Pkwy|Circle|Cir|Close|Crescent|Cres|Gardens|Grove|Mews|Row|Walk|Trail|Trl|Alley|Plaza|Turnpike|Expressway|Crossing|Parade|Loop|Pike|Path';
const kUnit = '(?:,? (?:Apt|Apartment|Suite|Ste|Unit|Flat|Floor|Room|#)\\.? ?#?[\\w-]{1,8})?';
const kStates =
  'A[LKZR]|C[AOT]|D[EC]|FL|GA|HI|I[DLNA]|K[SY]|LA|M[EDAINSOT]|N[EVHJMYCD]|O[HKR]|P[AR]|RI|S[CD]|T[NX]|UT|V[TA]|W[AVIY]|NSW|QLD|VIC|TAS|ACT|NT|ON|QC|BC|AB|MB|SK|NS|NB';
const kUsPlace = `(?:${kCity}),? (?:${kStates}) (?:\\d{5}(?:-\\d{4})?|\\d{4}|[A-Z]\\d[A-Z] ?\\d[A-Z]\\d)`;
const kUkCode = '[A-Z]{1,2}\\d[A-Z\\d]? \\d[ABD-HJLNP-UW-Z]{2}';
const edge = (form: string) => new RegExp(`(?<![\\p{L}\\p{N}_.,:/-])(?:${form})(?![\\p{L}\\p{N}_])`, 'gu');
const tail = (code: string) => `(?:,? ${code} ${kCity})?`;

const kForms: readonly [reason: string, score: number, form: RegExp][] = [
  ['address: number and street (English)', 0.8, edge(`\\d{1,6}[A-Za-z]? (?:[NSEW]{1,2}\\.? )?${kNames(4)}(?:${kStreets})\\b\\.?(?: [NSEW]{1,2}\\b)?${kUnit}(?:,? (?:${kUsPlace}|(?:${kCity},? )?${kUkCode}))?`)], // prettier-ignore
  ['address: post office box', 0.75, edge('(?:P\\.? ?O\\.? Box|Postfach|Boîte postale|Apartado) \\d{1,7}')],
  ['address: place, state and postal code', 0.75, edge(kUsPlace)],
  ['address: postal code (United Kingdom)', 0.6, edge(kUkCode)],
  ['address: street and number (German, Dutch)', 0.8, edge(`(?:${kName} ){0,3}[\\p{L}.-]{0,30}(?:[Ss]traße|[Ss]trasse|[Ss]tr\\.|weg|[Pp]latz|[Aa]llee|gasse|[Rr]ing|damm|ufer|chaussee|straat|laan|plein|gracht|kade|dijk|singel) (?!19\\d\\d|20\\d\\d)\\d{1,4}(?: ?[a-zA-Z]\\b)?${tail('(?:[A-Z]{1,2}-)?\\d{4,5}(?: ?[A-Z]{2})?')}`)], // prettier-ignore
  ['address: number and street (French)', 0.8, edge(`\\d{1,4}(?: ?(?:bis|ter))?,? (?:[Rr]ue|[Aa]venue|[Bb]oulevard|[Bb]d|[Pp]lace|[Cc]hemin|[Aa]llée|[Ii]mpasse|[Qq]uai|[Rr]oute|[Cc]ours|[Ss]quare) (?:${kSmall}${kName} ){0,3}${kSmall}${kName}${tail('\\d{5}')}`)], // prettier-ignore
  ['address: street and number (Spanish, Italian, Portuguese)', 0.8, edge(`(?:[Cc]alle|C/|[Aa]venida|Avda\\.|[Pp]laza|[Pp]aseo|[Cc]amino|[Rr]onda|[Cc]arrer|[Vv]ia|[Vv]iale|[Pp]iazza|[Cc]orso|[Ll]argo|[Vv]icolo|[Ss]trada|[Rr]ua|[Tt]ravessa|[Pp]raça) ?(?:${kSmall}${kName} ){0,3}${kSmall}${kName},? ?(?:n[º°.]{0,2} ?)?\\d{1,4}(?: ?[a-zA-Z]\\b)?${tail('\\d{4,5}(?:-\\d{3})?')}`)], // prettier-ignore
  ['address: postal code and place', 0.6, edge(`(?:D|A|CH|F|NL|B|L|I|E)-\\d{4,5} ${kCity}`)],
];

export const addresses: Rule = function* (text, from) {
  for (const [reason, score, form] of kForms) {
    for (const [found, start] of all(form, text, from)) {
      yield { label: 'address', start, end: start + found.replace(/[\s,.-]+$/, '').length, score, reason };
    }
  }
};
