// Keccak-256 as Ethereum uses it (the first version of SHA-3, whose padding begins with 1).

const kMask = (1n << 64n) - 1n;
const rotate = (lane: bigint, by: number): bigint => ((lane << BigInt(by)) | (lane >> BigInt(64 - by))) & kMask;

/** The round constants: bits of a shift register (FIPS 202, 3.2.5). */
function roundConstants(): bigint[] {
  let register = 1;
  return Array.from({ length: 24 }, () => {
    let constant = 0n;
    for (let j = 0; j < 7; ++j) {
      if (register & 1) constant |= 1n << BigInt(2 ** j - 1);
      register = register & 0x80 ? ((register << 1) ^ 0x171) & 0xff : register << 1;
    }
    return constant;
  });
}

/** FIPS 202, 3.2: the five steps of each of 24 rounds, on 25 lanes of 64 bits. */
function permute(lanes: bigint[], constants: readonly bigint[]): void {
  const at = (x: number, y: number) => lanes[(x % 5) + 5 * (y % 5)] as bigint;
  for (const constant of constants) {
    const columns = [0, 1, 2, 3, 4].map((x) => at(x, 0) ^ at(x, 1) ^ at(x, 2) ^ at(x, 3) ^ at(x, 4));
    for (let i = 0; i < 25; ++i) {
      lanes[i] = (lanes[i] as bigint) ^ (columns[(i + 4) % 5] as bigint) ^ rotate(columns[(i + 1) % 5] as bigint, 1);
    }
    let [x, y] = [1, 0];
    let carried = at(1, 0);
    for (let t = 0; t < 24; ++t) {
      [x, y] = [y, (2 * x + 3 * y) % 5];
      const here = at(x, y);
      lanes[x + 5 * y] = rotate(carried, (((t + 1) * (t + 2)) / 2) % 64);
      carried = here;
    }
    for (let row = 0; row < 25; row += 5) {
      const old = lanes.slice(row, row + 5);
      for (let i = 0; i < 5; ++i) {
        lanes[row + i] = (old[i] as bigint) ^ (~(old[(i + 1) % 5] as bigint) & kMask & (old[(i + 2) % 5] as bigint));
      }
    }
    lanes[0] = (lanes[0] as bigint) ^ constant;
  }
}

/** The hash of an ASCII text shorter than a block of 136 bytes, in hexadecimal. */
export function keccak256(text: string): string {
  const block = new Uint8Array(136);
  for (let i = 0; i < text.length; ++i) block[i] = text.charCodeAt(i);
  block[text.length] = 1;
  block[135] = (block[135] as number) | 0x80;
  const view = new DataView(block.buffer);
  const lanes = Array.from({ length: 25 }, (_, i) => (i < 17 ? view.getBigUint64(i * 8, true) : 0n));
  permute(lanes, roundConstants());
  const out = new DataView(new ArrayBuffer(32));
  for (let i = 0; i < 4; ++i) out.setBigUint64(i * 8, lanes[i] as bigint, true);
  return Array.from(new Uint8Array(out.buffer), (byte) => byte.toString(16).padStart(2, '0')).join('');
}
