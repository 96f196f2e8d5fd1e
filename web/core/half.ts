const kScratch = new DataView(new ArrayBuffer(4));

/** The nearest half-precision number, as its bits; ties to even. */
export function floatToHalf(value: number): number {
  kScratch.setFloat32(0, value);
  const sign = (kScratch.getUint32(0) >>> 16) & 0x8000;
  const size = Math.abs(Math.fround(value));
  if (size >= 65520) return sign | 0x7c00;
  const exponent = Math.max(-14, Math.floor(Math.log2(size || 2 ** -24)));
  const steps = size * 2 ** (10 - exponent); // exact: a multiplication by a power of two
  let rounded = Math.floor(steps);
  if (steps - rounded > 0.5 || (steps - rounded === 0.5 && rounded % 2 === 1)) ++rounded;
  return sign | (rounded + (exponent + 14) * 1024);
}

/** The number that a half-precision number has, given as its bits. */
export function halfToFloat(half: number): number {
  const sign = half & 0x8000 ? -1 : 1;
  const exponent = (half >> 10) & 31;
  const fraction = half & 1023;
  if (exponent === 0) return sign * fraction * 2 ** -24;
  if (exponent === 31) return fraction ? NaN : sign * Infinity;
  return sign * (1 + fraction / 1024) * 2 ** (exponent - 15);
}
