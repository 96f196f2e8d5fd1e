// Addresses of cryptocurrencies, by their checksums.
import { Sha256 } from '../../source/sha256.js';
import { keccak256 } from './keccak.js';
import { all, finding, type Rule } from './rule.js';

const kBase58 = '123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz';
const kBech32 = 'qpzry9x8gf2tvdw0s3jn54khce6mua7l';

function sha256(bytes: Uint8Array): Uint8Array {
  const hash = new Sha256();
  hash.update(bytes);
  return Uint8Array.from(hash.hex().match(/../g) as string[], (pair) => parseInt(pair, 16));
}

/** A version byte, 20 bytes and the first four bytes of their SHA-256 taken twice, in base 58 (Bitcoin, Litecoin, Dogecoin, Tron, ..). */
export function isBase58Check(text: string): boolean {
  const bytes = new Uint8Array(25);
  for (const char of text) {
    let carry = kBase58.indexOf(char);
    if (carry < 0) return false;
    for (let i = 24; i >= 0; --i) {
      carry += (bytes[i] as number) * 58;
      bytes[i] = carry & 255;
      carry >>= 8;
    }
    if (carry !== 0) return false;
  }
  const sum = sha256(sha256(bytes.subarray(0, 21)));
  return bytes.subarray(21).every((byte, i) => byte === sum[i]);
}

/** BIP 173 and BIP 350: the polynomial's remainder is 1 for bech32 and 0x2bc830a3 for bech32m. */
export function isBech32(text: string): boolean {
  const lower = text.toLowerCase();
  if (lower !== text && text.toUpperCase() !== text) return false;
  const split = lower.lastIndexOf('1');
  const prefix = Array.from(lower.slice(0, split), (char) => char.charCodeAt(0));
  const data = Array.from(lower.slice(split + 1), (char) => kBech32.indexOf(char));
  if (split < 1 || data.length < 6 || data.includes(-1)) return false;
  let sum = 1;
  for (const value of [...prefix.map((code) => code >> 5), 0, ...prefix.map((code) => code & 31), ...data]) {
    const top = sum >>> 25;
    sum = ((sum & 0x1ffffff) << 5) ^ value;
    [0x3b6a57b2, 0x26508e6d, 0x1ea119fa, 0x3d4233dd, 0x2a1462b3].forEach((generator, i) => {
      if ((top >> i) & 1) sum ^= generator;
    });
  }
  return sum === 1 || sum === 0x2bc830a3;
}

/** ERC-55: a letter is a capital where the digit of the hash of the address in lower case is 8 or more. */
export function isErc55(address: string): boolean {
  const digits = address.slice(2);
  const hash = keccak256(digits.toLowerCase());
  return [...digits].every((char, i) => /\d/.test(char) || /[A-F]/.test(char) === parseInt(hash[i] as string, 16) >= 8);
}

const kBase58Form = /(?<![\p{L}\p{N}])[1-9A-HJ-NP-Za-km-z]{26,35}(?![\p{L}\p{N}])/gu;
const kBech32Form = /(?<![\p{L}\p{N}])(?:bc|tb|bcrt|ltc|tltc|dgb|vtc|grs|cosmos|osmo|addr|stake|celestia|juno|terra|inj|sei|axelar|zs)1[02-9ac-hj-np-z]{25,110}(?![\p{L}\p{N}])/giu; // prettier-ignore
const kEthereum = /(?<![\p{L}\p{N}])0x[0-9a-fA-F]{40}(?![\p{L}\p{N}])/gu;

export const cryptos: Rule = function* (text, from) {
  for (const [found, start] of all(kBase58Form, text, from)) {
    if (!/\d/.test(found) || !isBase58Check(found)) continue;
    yield finding('crypto', found, start, 0.99, 'crypto address: checksum (Base58Check)');
  }
  for (const [found, start] of all(kBech32Form, text, from)) {
    if (!isBech32(found)) continue;
    yield finding('crypto', found, start, 0.99, 'crypto address: checksum (bech32)');
  }
  for (const [found, start] of all(kEthereum, text, from)) {
    const isMixed = /[a-f]/.test(found.slice(2)) && /[A-F]/.test(found);
    if (isMixed && !isErc55(found)) continue;
    const reason = isMixed ? 'crypto address: checksum (ERC-55)' : 'crypto address: 0x and 40 hexadecimal digits';
    yield finding('crypto', found, start, isMixed ? 0.99 : 0.7, reason);
  }
};
