import { createHash } from 'node:crypto';
import { Sha256 } from '../../web/source/sha256.js';

describe('Sha256', () => {
  it('is that of Node, for every length around a block, in chunks of any size', () => {
    for (const length of [...Array(130).keys(), 1000, 200_003]) {
      const bytes = Uint8Array.from({ length }, (_, i) => 7 * i);
      const expected = createHash('sha256').update(bytes).digest('hex');
      for (const step of length < 1001 ? [1, 37, 64, 65, 1000] : [4096, length]) {
        const hash = new Sha256();
        for (let at = 0; at < length; at += step) hash.update(bytes.subarray(at, at + step));
        expect(hash.hex()).toBe(expected);
      }
    }
  });

  it('counts more than 2^29 bytes', () => {
    const chunk = new Uint8Array(1 << 24).fill(3);
    const [hash, expected] = [new Sha256(), createHash('sha256')];
    for (let i = 0; i < 33; ++i) {
      hash.update(chunk);
      expected.update(chunk);
    }
    expect(hash.hex()).toBe(expected.digest('hex'));
  });
});
