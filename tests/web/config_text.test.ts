// config.json is written for Python's libraries, which distinguish 2.0 from 2.
import { withMembers } from '../../web/train/config_text.js';

const numbersOf = (json: string) =>
  [...json.replace(/"(?:[^"\\]|\\.)*"/g, '""').matchAll(/-?\d[\d.eE+-]*/g)].map(([number]) => number);

describe('config.json with other members', () => {
  it('has its numbers as they were written', () => {
    const json =
      '{"a": 2.0, "b": [0.0, -1.50, 1e-12, 1E+3, 12345678901234567890, -0.0, 3],\n "c": {"d": 1.0, "number 0": "number 1", "e": "2.0, 3.0"}, "f\\"9.0": true}';
    const out = withMembers(json, { z: [1, 2.5] });
    expect(numbersOf(out)).toEqual([...numbersOf(json), '1', '2.5']);
    expect(JSON.parse(out)).toEqual({ ...JSON.parse(json), z: [1, 2.5] });
  });

  it('has what Python writes for numbers that are not finite', () => {
    expect(withMembers('{"a": [0.0, Infinity, -Infinity], "b": NaN, "c": "NaN"}', { d: 1 }).replace(/\s+/g, '')).toBe(
      '{"a":[0.0,Infinity,-Infinity],"b":NaN,"c":"NaN","d":1}',
    );
  });

  it('replaces members in their place, drops those that are undefined, and takes the numbers of new ones as they are', () => {
    const out = withMembers('{"a": 1.0, "b": 2.0, "c": 3.0}', { b: { n: 4 }, c: undefined, d: '5.0 number 1' });
    expect(out).toBe('{\n  "a": 1.0,\n  "b": {\n    "n": 4\n  },\n  "d": "5.0 number 1"\n}');
  });

  it('has no marks of its own where a file or a label looks like one', () => {
    for (const text of ['number ', 'number .', 'number 0', '"number 0"', 'number .0']) {
      const json = JSON.stringify({ text, n: 1 }).replace('1}', '1.0}');
      expect(withMembers(json, { label: text })).toContain('"n": 1.0');
      expect(JSON.parse(withMembers(json, { label: text }))).toEqual({ text, n: 1, label: text });
      expect(JSON.parse(withMembers('{"n": 1.0}', { label: text }))).toEqual({ n: 1, label: text });
    }
  });
});
