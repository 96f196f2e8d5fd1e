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
