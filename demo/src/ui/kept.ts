// State that outlives its component: what a person typed is still there after a change of model. Texts are in the address, too.
import { useState } from 'preact/hooks';
import { readAddress, writeAddress } from './address.js';

interface Kept {
  value: unknown;
  /** What it was before anybody changed it; this is not written into addresses. */
  first: unknown;
}

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
  for (const [name, { value, first }] of kept) {
    const [owner, rest] = partsOf(name);
    if (owner !== panel || typeof value !== 'string') continue;
    if (value === first) params.delete(rest);
    else params.set(rest, value);
  }
  if (model !== undefined) params.set(kModel, model);
  if (panel !== '' || params.size > 0) writeAddress({ panel, params });
}

/** Takes what an address says of its panel. Returns whether anything changed. */
export function takeAddress({ panel, params } = readAddress()): boolean {
  let changed = false;
  for (const [rest, value] of params) {
    const entry = kept.get(`${panel}.${rest}`);
    if (!entry || typeof entry.value !== 'string' || entry.value === value) continue;
    entry.value = value;
    changed = true;
  }
  return changed;
}

/** As useState; one value for each name on the page. name: the panel's, a dot, and what the address calls it. */
export function useKept<T>(name: string, initial: () => T): [T, (next: T) => void] {
  const [value, setValue] = useState(() => {
    const before = kept.get(name);
    if (before) return before.value as T;
    const [panel, rest] = partsOf(name);
    const first = initial();
    const address = readAddress();
    const given = address.panel === panel && typeof first === 'string' ? address.params.get(rest) : null;
    const value = (given ?? first) as T;
    kept.set(name, { value, first });
    return value;
  });
  const keep = (next: T) => {
    kept.set(name, { first: next, ...kept.get(name), value: next });
    setValue(() => next);
    const [panel] = partsOf(name);
    if (readAddress().panel === panel) showInAddress(panel);
  };
  return [value, keep];
}
