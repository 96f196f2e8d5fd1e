import { floatText } from '../../web/core/texts.js';

describe('floatText', () => {
  const bits = new DataView(new ArrayBuffer(4));
  const fromBits = (value: number) => {
    bits.setUint32(0, value);
    return bits.getFloat32(0);
  };

  it('gives the shortest decimal that reads back as the same float32', () => {
    const known: [number, string][] = [[0, '0'], [-0, '-0'], [1, '1'], [0.1, '0.1'], [1 / 3, '0.33333334'], [16777216, '16777216'], [2 ** -149, '1e-45'], [-1.5e-7, '-1.5e-7']]; // prettier-ignore
    for (const [value, text] of known) expect(floatText(Math.fround(value))).toBe(text);
  });

  it('reads back for any bits, and no shorter one does', () => {
    let state = 1;
    for (let i = 0; i < 20_000; ++i) {
      state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
      const value = fromBits(state);
      if (!Number.isFinite(value)) continue;
      const text = floatText(value);
      if (Math.fround(JSON.parse(text)) !== value) throw new Error(`${text} does not read back as ${value}`);
      const digits = text.replace(/e.*|^-|\./g, '').replace(/^0+|0+$/g, '').length;
      if (digits > 1 && Math.fround(Number(value.toPrecision(digits - 1))) === value)
        throw new Error(`${text} is not the shortest`);
    }
  });
});
