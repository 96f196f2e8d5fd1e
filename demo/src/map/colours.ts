// Which colour each row has: its label's. The most frequent labels have colours of their own.
import type { Row } from './rows.js';

export interface Group {
  label: string;
  rows: number[];
}

export interface Colouring {
  /** In the order of their colours. */
  groups: Group[];
  /** [rows]: the group of each. */
  of: Uint8Array;
}

const kOwn = 8; // colours: --cluster-0 and so on

export function colouringOf(rows: readonly Row[]): Colouring {
  const byLabel = new Map<string | undefined, number[]>();
  rows.forEach(({ label }, i) => {
    const own = byLabel.get(label);
    if (own) own.push(i);
    else byLabel.set(label, [i]);
  });
  const sorted = [...byLabel].sort(([, a], [, b]) => b.length - a.length);
  const own = sorted.length <= kOwn ? sorted : sorted.slice(0, kOwn - 1);
  const rest = sorted.slice(own.length);
  const groups = own.map(([label, members]) => ({ label: label ?? 'no label', rows: members }));
  if (rest.length > 0)
    groups.push({ label: `${rest.length} other labels`, rows: rest.flatMap(([, members]) => members).sort((a, b) => a - b) });
  const of = new Uint8Array(rows.length);
  groups.forEach((group, number) => group.rows.forEach((row) => (of[row] = number)));
  return { groups, of };
}
