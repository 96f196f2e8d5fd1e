// State that outlives its component: what a person typed is still there after a change of model. Texts are in the address, too.
import { useState } from 'preact/hooks';
import { readAddress, writeAddress } from './address.js';

/** How a value is written into addresses, and read from them; undefined: it says nothing that can be shown. */
export interface Written<T> {
  write: (value: T) => string;
  read: (text: string) => T | undefined;
}

interface Kept {
  value: unknown;
  /** What it was before anybody changed it, as written; this is not in addresses. */
  first: string | undefined;
  /** undefined: it is kept here alone. */
  written: Written<unknown> | undefined;
}

const kAsItIs: Written<string> = { write: (value) => value, read: (text) => text };

/** One of these words. */
export const oneOf = <T extends string>(words: readonly T[]): Written<T> => ({
  write: (value) => value,
  read: (text) => words.find((word) => word === text),
});

/** As JSON. isRight: whether what an address says can be shown. */
export const asJson = <T>(isRight: (value: unknown) => value is T): Written<T> => ({
  write: (value) => JSON.stringify(value),
  read(text) {
    try {
      const value: unknown = JSON.parse(text);
      return isRight(value) ? value : undefined;
    } catch {
      return undefined;
    }
  },
});

const kept = new Map<string, Kept>();
const kModel = 'model';
let model: string | undefined;

/** 'attention.text' belongs to the panel attention, whose address calls it text. */
const partsOf = (name: string) => name.split(/\.(.*)/s) as [panel: string, rest: string];

/** What the page's address should say of the model: a hub id or a URL; undefined where it cannot say it. */
export function setAddressModel(name: string | undefined): void {
  model = name;
  showInAddress(readAddress().panel);
}

/** Writes what this panel shows into the address. What it says of a panel that is not there yet stays. */
export function showInAddress(panel: string): void {
  const now = readAddress();
  const params = now.panel === panel ? now.params : new URLSearchParams();
  params.delete(kModel);
  for (const [name, { value, first, written }] of kept) {
    const [owner, rest] = partsOf(name);
    if (owner !== panel || !written) continue;
    const text = written.write(value);
    if (text === first) params.delete(rest);
    else params.set(rest, text);
  }
  if (model !== undefined) params.set(kModel, model);
  if (panel !== '' || params.size > 0) writeAddress({ panel, params });
}

/** Takes what an address says of its panel. Returns whether anything changed. */
export function takeAddress({ panel, params } = readAddress()): boolean {
  let changed = false;
  for (const [rest, text] of params) {
    const entry = kept.get(`${panel}.${rest}`);
    if (!entry?.written || entry.written.write(entry.value) === text) continue;
    const value = entry.written.read(text);
    if (value === undefined) continue;
    entry.value = value;
    changed = true;
  }
  return changed;
}

/** What is kept under a name; undefined: nothing yet. */
export const keptNow = (name: string): unknown => kept.get(name)?.value;

/** As useState; one value for each name on the page. name: the panel's, a dot, and what the address calls it. Texts are in the address. */
export function useKept<T>(name: string, initial: () => T, how?: Written<T>): [T, (next: T) => void] {
  const [value, setValue] = useState(() => {
    const before = kept.get(name);
    if (before) return before.value as T;
    const [panel, rest] = partsOf(name);
    const first = initial();
    const written = (how ?? (typeof first === 'string' ? kAsItIs : undefined)) as Written<unknown> | undefined;
    const address = readAddress();
    const given = address.panel === panel ? address.params.get(rest) : null;
    const value = (given === null ? undefined : written?.read(given)) ?? first;
    kept.set(name, { value, first: written?.write(first), written });
    return value as T;
  });
  const keep = (next: T) => {
    kept.set(name, { ...(kept.get(name) as Kept), value: next });
    setValue(() => next);
    const [panel] = partsOf(name);
    if (readAddress().panel === panel) showInAddress(panel);
  };
  return [value, keep];
}
