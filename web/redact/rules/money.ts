// IBANs and numbers of payment cards.
import { isLuhn, remainder } from './checks.js';
import { all, contextOf, finding, type Rule } from './rule.js';

/** Lengths of IBANs by country: SWIFT's registry. */
const kIbanLengths = new Map(
  `AD24 AE23 AL28 AT20 AZ28 BA20 BE16 BG22 BH22 BI27 BR29 BY28 CH21 CR22 CY28 CZ24 DE22 DJ27 DK18 DO28 EE20 EG29 ES24 FI18 FK18 FO18 FR27 GB22 GE22 GI23 GL18
GR27 GT28 HN28 HR21 HU28 IE22 IL23 IQ23 IS26 IT27 JO30 KW30 KZ20 LB28 LC32 LI21 LT20 LU20 LV21 LY25 MC27 MD24 ME22 MK19 MN20 MR27 MT31 MU30 NI28 NL18 NO15
OM23 PK24 PL28 PS29 PT25 QA29 RO24 RS22 RU33 SA24 SC31 SD18 SE24 SI19 SK24 SM27 SO23 ST25 SV28 TL23 TN24 TR26 UA29 VA22 VG24 XK20 YE30
DZ26 AO25 BJ28 BF28 CM27 CV25 CF27 TD27 KM27 CG27 GA27 GW25 GQ27 IR26 CI28 MG27 ML28 MA28 MZ25 NE28 SN28 TG28`
    .split(/\s+/)
    .map((each) => [each.slice(0, 2), Number(each.slice(2))]),
);

const kIban = /(?<![\p{L}\p{N}])[A-Za-z]{2}\d{2}(?:[ \u00a0-]?[A-Za-z0-9]){11,30}/gu;

/** ISO 13616: with letters as numbers and the first four characters at the end, it is 1 modulo 97. */
export function isIban(compact: string): boolean {
  const iban = compact.toUpperCase();
  const number = (iban.slice(4) + iban.slice(0, 4)).replace(/[A-Z]/g, (letter) => String(letter.charCodeAt(0) - 55));
  return remainder(number, 97) === 1;
}

export const ibans: Rule = function* (text, from) {
  for (const [found, start] of all(kIban, text, from)) {
    const length = kIbanLengths.get(found.slice(0, 2).toUpperCase());
    if (length === undefined) continue;
    for (const [most, score, reason] of [
      [length, 0.99, 'IBAN: check digits and length of its country'],
      [Infinity, 0.8, 'IBAN: check digits, but another length than its country has'],
    ] as const) {
      let end = 0;
      for (let count = 0; end < found.length && count < most; ++end) if (/[A-Za-z0-9]/.test(found[end] as string)) ++count;
      const compact = found.slice(0, end).replace(/[^A-Za-z0-9]/g, '');
      if (most !== Infinity && compact.length !== most) continue;
      if (/[\p{L}\p{N}]/u.test(text[start + end] ?? '') || !isIban(compact)) continue;
      yield { label: 'iban', start, end: start + end, score, reason };
      break;
    }
  }
};

/** Issuers' ranges by their first digits, with the lengths of their numbers. */
const kIssuers: readonly [name: string, pattern: RegExp][] = [
  ['Visa', /^4(?:\d{12}|\d{15}|\d{18})$/],
  ['Mastercard', /^(?:5[1-5]\d{14}|2(?:22[1-9]|2[3-9]\d|[3-6]\d\d|7[01]\d|720)\d{12})$/],
  ['American Express', /^3[47]\d{13}$/],
  ['Discover', /^(?:6011\d{12,15}|64[4-9]\d{13,16}|65\d{14,17})$/],
  ['JCB', /^(?:35\d{14,17}|(?:2131|1800)\d{11})$/],
  ['Diners Club', /^3(?:0[0-59]|[689]\d)\d{11,16}$/],
  ['UnionPay', /^(?:62|81)\d{14,17}$/],
  ['Mir', /^220[0-4]\d{12,15}$/],
  ['RuPay', /^(?:508|60|82|353|356)\d+$/],
  ['Elo', /^(?:4011|438935|45763[12]|50|627780|636)\d+$/],
  ['Maestro', /^(?:5[0678]|6)\d{10,17}$/],
  ['Dankort', /^5019\d{12}$/],
  ['Verve', /^(?:506|650)\d{13,16}$/],
  ['Troy', /^9792\d{12}$/],
  ['UATP', /^1\d{14}$/],
];

const kCard = /(?<![\p{L}\p{N}.,]|[\p{N}][ -])\d(?:[ \u00a0-]?\d){11,18}(?![\p{L}\p{N}]|[.,]\d)/gu;
const kCardWord = /card|visa|master|amex|credit|debit|karte|carte|tarjeta|carta|cartão|карт|卡|カード|카드|kaart|kart|\bcc\b/iu;
const kOther = /isbn|ean|gtin|serial|invoice|order|timestamp|tracking|\bid\b|\bref|part|sku|imei/iu;

export const cards: Rule = function* (text, from) {
  for (const [found, start] of all(kCard, text, from)) {
    const digits = found.replace(/\D/g, '');
    if (/^0|^(\d)\1+$/.test(digits) || !isLuhn(digits)) continue;
    const issuer = kIssuers.find(([, pattern]) => pattern.test(digits))?.[0];
    const before = contextOf(text, start);
    const told = kCardWord.test(before);
    if (!told && (!issuer || kOther.test(before.slice(-24)) || (issuer === 'UATP' && digits === found))) continue;
    const reason = `card: check digit (Luhn)${issuer ? `, a number of ${issuer}` : ', beside a word for cards'}`;
    yield finding('card', found, start, told && issuer ? 0.98 : 0.9, reason);
  }
};
