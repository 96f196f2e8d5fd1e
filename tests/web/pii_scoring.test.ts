// The scoring of wattn-pii and others (tools/encoders/pii/scoring.mjs), and the test texts.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { root } from './support.js';

const { exact, identification, kIdentifying, readMarked } = await import(join(root, 'tools/encoders/pii/scoring.mjs'));
const marked = 'mail\tCall [PER Ada Novak] in [LOC Porto],\\nmember [ID 44-71], from [IP 10.0.0.1]';
const [row] = readMarked(`${marked}\n`);
const [ada, porto, id, ip] = row.spans;

describe('the judge of wattn-pii', () => {
  it('reads marks, and line breaks', () => {
    expect(row.kind).toBe('mail');
    expect(row.text).toBe('Call Ada Novak in Porto,\nmember 44-71, from 10.0.0.1');
    const read = row.spans.map(({ label, start, end }: any) => [label, row.text.slice(start, end)]);
    expect(read).toEqual([['PER', 'Ada Novak'], ['LOC', 'Porto'], ['ID', '44-71'], ['IP', '10.0.0.1']]); // prettier-ignore
  });

  it('counts exact spans with the right label', () => {
    const found = [ada, { ...porto, label: 'ORG' }, { label: 'LOC', start: 0, end: 4 }];
    expect(exact([row], [found], ['PER', 'LOC'])).toEqual({ precision: 0.5, recall: 0.5, f1: 0.5 });
    expect(exact([row], [found], ['PER'])).toEqual({ precision: 1, recall: 1, f1: 1 });
  });

  it('counts what identifies a person as found where it is covered, whatever the label', () => {
    const halves = [{ label: 'PER', start: 5, end: 8 }, { label: 'USERNAME', start: 9, end: 14 }, { ...id, label: 'phone' }]; // prettier-ignore
    const { recall, precision, strict, labels } = identification([row], [halves]);
    expect([recall, precision]).toEqual([1, 1]);
    expect(strict).toEqual({ recall: 0.5, precision: 0.3333 });
    expect(labels).toEqual({ PER: [1, 1], ID: [1, 1] });
    const part = identification([row], [[{ ...ada, end: ada.end - 1 }]]);
    expect([part.recall, part.recall_touched, part.precision]).toEqual([0, 0.5, 1]);
    expect(part.missed.map(({ text }: any) => text)).toEqual(['Ada Novak', '44-71']);
  });

  it('counts findings beside it as wrong, but for IP addresses, and places only where all labels count', () => {
    const found = [ada, { ...ip, label: 'ID' }, { ...ip, label: 'ip' }, { label: 'PER', start: 0, end: 4 }, porto];
    expect(identification([row], [found])).toMatchObject({ recall: 0.5, precision: 0.5 });
    expect(identification([row], [found], true)).toMatchObject({ recall: 0.5, precision: 0.6667 });
  });

  it('has 500 different texts of six kinds, with marks that are whole', () => {
    const content = readFileSync(join(root, 'tests/fixtures/pii/everyday.tsv'), 'utf8');
    const rows = readMarked(content);
    expect(new Set(rows.map(({ text }: any) => text)).size).toBe(500);
    expect(new Set(rows.map(({ kind }: any) => kind))).toEqual(new Set(['mail', 'chat', 'note', 'log', 'form', 'ticket']));
    for (const { text, spans } of rows) {
      expect(text).not.toMatch(/\[(PER|ORG|LOC|ADDRESS|USERNAME|BIRTH_DATE|ID|EMAIL|PHONE|IP)\b|\\n|\|/);
      for (const { start, end } of spans) expect(text.slice(start, end)).toMatch(/^\S[^]*\S$|^\S$/u);
    }
    const without = rows.filter(({ spans }: any) => !spans.some(({ label }: any) => kIdentifying.includes(label)));
    expect(without).toHaveLength(223); // as README there says
  });
});
