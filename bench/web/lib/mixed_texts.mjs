// Texts of 4 to 150 words from a file, with lengths spread evenly on a logarithmic scale, shuffled.
import { readFileSync } from 'node:fs';

export function mixedTexts(path, count) {
  const words = readFileSync(path, 'utf8').split(/\s+/).slice(2000);
  let at = 0;
  let seed = 1;
  return Array.from({ length: count }, () => {
    seed = (seed * 48271) % 2147483647;
    const length = Math.round(4 * (150 / 4) ** (seed / 2147483647));
    at += length;
    return words.slice(at - length, at).join(' ');
  });
}
