// The ranges of characters that patterns of constraints may name: compared with the engine's RegExp, character by character.
import { describe, expect, it } from '@jest/globals';
import { propertiesIn } from '../../web/generation/properties.js';

describe('properties of Unicode', () => {
  it.each(['L', 'Lu', 'Script=Gothic', 'Script=Han', 'Emoji', 'Any', 'Noncharacter_Code_Point'])(
    '%s has the characters of RegExp',
    (name) => {
      const ranges = propertiesIn(`^\\p{${name}}$`).get(name)!;
      const pattern = new RegExp(`^\\p{${name}}$`, 'u');
      const wrong: number[] = [];
      for (let code = 0, at = 0; code < 0x110000; ++code) {
        while (at < ranges.length && ranges[at + 1]! < code) at += 2;
        const isIn = at < ranges.length && ranges[at]! <= code;
        const isSurrogate = code >= 0xd800 && code < 0xe000; // no UTF-8 has them
        if (isIn !== (!isSurrogate && pattern.test(String.fromCodePoint(code)))) wrong.push(code);
      }
      expect(wrong).toEqual([]);
    },
  );

  it('leaves out what is no property of characters', () => {
    expect([...propertiesIn('\\p{Nobody} \\P{RGI_Emoji} \\p{Ll}').keys()]).toEqual(['Ll']);
  });
});
