// Addresses of machines, and URLs with secrets.
import { all, contextOf, finding, type Rule } from './rule.js';

const kOctet = '(?:25[0-5]|2[0-4]\\d|1\\d\\d|[1-9]?\\d)';
const kIpv4 = new RegExp(`(?<![\\p{L}\\p{N}_.-])${kOctet}(?:\\.${kOctet}){3}(?![\\p{L}\\p{N}_]|[.-][\\p{L}\\p{N}])`, 'gu');
const kIpv6 = /(?<![\p{L}\p{N}_:.])[0-9A-Fa-f:]{2,39}(?:\d{1,3}(?:\.\d{1,3}){3})?(?:%[\w.-]{1,15})?(?![\p{L}\p{N}_:])/gu;
const kVersion = /(?:\bv|version|release|firmware|build|section|chapter|§|oid|\bec\b|[a-z]-)[ :=]{0,2}$/iu;

/** RFC 4291: eight groups, of which one row of zeros may be `::`; the last two may be an IPv4 address. */
export function isIpv6(text: string): boolean {
  const [address] = text.split('%') as [string];
  const halves = address.split('::');
  if (halves.length > 2) return false;
  const groups = halves.flatMap((half) => (half === '' ? [] : half.split(':')));
  const v4 = groups.length > 0 && (groups[groups.length - 1] as string).includes('.') ? (groups.pop() as string) : undefined;
  if (v4 !== undefined && !new RegExp(`^${kOctet}(?:\\.${kOctet}){3}$`).test(v4)) return false;
  const count = groups.length + (v4 === undefined ? 0 : 2);
  return groups.every((group) => /^[0-9A-Fa-f]{1,4}$/.test(group)) && (halves.length === 2 ? count < 8 : count === 8);
}

export const ips: Rule = function* (text, from) {
  for (const [found, start] of all(kIpv4, text, from)) {
    if (kVersion.test(contextOf(text, start)) || /^(?:0|255)\./.test(found)) continue;
    yield finding('ip', found, start, 0.9, 'IPv4 address');
  }
  for (const [found, start] of all(kIpv6, text, from)) {
    const groups = found.split(':').filter(Boolean);
    // `a::b` may be a name in a program.
    if (!isIpv6(found) || (groups.length < 3 && !(groups.length === 2 && /\d/.test(found) && found.length > 5))) continue;
    yield finding('ip', found, start, 0.95, 'IPv6 address');
  }
};

const kMac = /(?<![\p{L}\p{N}:.-])(?:[0-9A-Fa-f]{2}([:-])(?:[0-9A-Fa-f]{2}\1){4}[0-9A-Fa-f]{2}|[0-9A-Fa-f]{4}\.[0-9A-Fa-f]{4}\.[0-9A-Fa-f]{4})(?![\p{L}\p{N}]|[:.-][\p{L}\p{N}])/gu; // prettier-ignore

export const macs: Rule = function* (text, from) {
  for (const [found, start] of all(kMac, text, from)) {
    yield finding('mac', found, start, 0.95, 'MAC address: six bytes in hexadecimal');
  }
};

const kUserInfo = /(?<=[a-z][a-z0-9+.-]{1,15}:\/\/)[^\s/?#@"'<>]{1,256}(?=@[\p{L}\p{N}[])/giu;
const kSecretName = '(?:access|auth|refresh|id|session|bearer|security|csrf|x-amz-security)?[_-]?(?:token|key|apikey|secret|password|passwd|pwd|signature|sig|jwt|code|credential|auth)|(?:api|access|private|client|subscription)[_-](?:key|secret)|x-amz-(?:signature|credential)|sid|sessionid'; // prettier-ignore
const kQuery = new RegExp(`(?<=[?&#;](?:${kSecretName})=)[^\\s&#"'<>]{6,2048}`, 'giu');

export const urlSecrets: Rule = function* (text, from) {
  if (!text.includes('://')) return;
  for (const [found, start] of all(kUserInfo, text, from)) {
    const reason = found.includes(':') ? 'URL: user and password' : 'URL: user';
    yield finding('url_secret', found, start, found.includes(':') ? 0.97 : 0.7, reason);
  }
  for (const [whole, start] of all(kQuery, text, from)) {
    const found = whole.replace(/[.,;:!?)\]]+$/, '');
    if (found.length < 6) continue;
    yield finding('url_secret', found, start, 0.9, 'URL: the value of a parameter for secrets');
  }
};
