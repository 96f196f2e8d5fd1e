// SHA-256 of bytes that arrive in chunks (FIPS 180-4): crypto.subtle needs all of them at once.

const fraction = (x: number) => ((x - Math.floor(x)) * 2 ** 32) | 0;

/** The first 64 primes: their roots are the constants of the standard. */
const kPrimes = Array.from({ length: 312 }, (_, i) => i).filter((n) => n > 1 && !Array.from({ length: n }, (_, d) => d).some((d) => d > 1 && n % d === 0)); // prettier-ignore
const kRound = Int32Array.from(kPrimes, (prime) => fraction(Math.cbrt(prime)));

export class Sha256 {
  private readonly state = Int32Array.from(kPrimes.slice(0, 8), (prime) => fraction(Math.sqrt(prime)));
  private readonly words = new Int32Array(64);
  private readonly block = new Uint8Array(64);
  private filled = 0;
  private bytes = 0;

  update(chunk: Uint8Array): void {
    this.bytes += chunk.length;
    let at = 0;
    if (this.filled > 0) {
      at = Math.min(64 - this.filled, chunk.length);
      this.block.set(chunk.subarray(0, at), this.filled);
      this.filled += at;
      if (this.filled < 64) return;
      this.compress(this.block, 0);
    }
    for (; at + 64 <= chunk.length; at += 64) this.compress(chunk, at);
    this.block.set(chunk.subarray(at));
    this.filled = chunk.length - at;
  }

  /** The digest in hexadecimal; to be called once, at the end. */
  hex(): string {
    const { bytes } = this;
    const end = new Uint8Array((this.filled < 56 ? 64 : 128) - this.filled);
    end[0] = 0x80;
    const view = new DataView(end.buffer);
    view.setUint32(end.length - 8, Math.floor(bytes / 2 ** 29));
    view.setUint32(end.length - 4, (bytes * 8) % 2 ** 32);
    this.update(end);
    return Array.from(this.state, (word) => (word >>> 0).toString(16).padStart(8, '0')).join('');
  }

  private compress(from: Uint8Array, at: number): void {
    const { state, words: w } = this;
    for (let i = 0; i < 16; ++i, at += 4) {
      w[i] = (from[at]! << 24) | (from[at + 1]! << 16) | (from[at + 2]! << 8) | from[at + 3]!;
    }
    for (let i = 16; i < 64; ++i) {
      const x = w[i - 15]!;
      const y = w[i - 2]!;
      const s0 = ((x >>> 7) | (x << 25)) ^ ((x >>> 18) | (x << 14)) ^ (x >>> 3);
      const s1 = ((y >>> 17) | (y << 15)) ^ ((y >>> 19) | (y << 13)) ^ (y >>> 10);
      w[i] = (w[i - 16]! + s0 + w[i - 7]! + s1) | 0;
    }
    let a = state[0]!;
    let b = state[1]!;
    let c = state[2]!;
    let d = state[3]!;
    let e = state[4]!;
    let f = state[5]!;
    let g = state[6]!;
    let h = state[7]!;
    for (let i = 0; i < 64; ++i) {
      const s1 = ((e >>> 6) | (e << 26)) ^ ((e >>> 11) | (e << 21)) ^ ((e >>> 25) | (e << 7));
      const t1 = (h + s1 + ((e & f) ^ (~e & g)) + kRound[i]! + w[i]!) | 0;
      const s0 = ((a >>> 2) | (a << 30)) ^ ((a >>> 13) | (a << 19)) ^ ((a >>> 22) | (a << 10));
      const t2 = (s0 + ((a & b) ^ (a & c) ^ (b & c))) | 0;
      h = g;
      g = f;
      f = e;
      e = (d + t1) | 0;
      d = c;
      c = b;
      b = a;
      a = (t1 + t2) | 0;
    }
    state[0] = (state[0]! + a) | 0;
    state[1] = (state[1]! + b) | 0;
    state[2] = (state[2]! + c) | 0;
    state[3] = (state[3]! + d) | 0;
    state[4] = (state[4]! + e) | 0;
    state[5] = (state[5]! + f) | 0;
    state[6] = (state[6]! + g) | 0;
    state[7] = (state[7]! + h) | 0;
  }
}

/** The digest of bytes that are all there, in hexadecimal: by the platform where it has one. */
export async function sha256Of(bytes: Uint8Array): Promise<string> {
  const subtle = globalThis.crypto?.subtle as SubtleCrypto | undefined; // of pages that are served securely
  if (subtle) {
    const digest = new Uint8Array(await subtle.digest('SHA-256', bytes as Uint8Array<ArrayBuffer>));
    return Array.from(digest, (byte) => byte.toString(16).padStart(2, '0')).join('');
  }
  const hash = new Sha256();
  hash.update(bytes);
  return hash.hex();
}
