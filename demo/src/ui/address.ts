// The address: #panel?name=value&model=.. What a panel shows is in it, so that a link shows the same to others. A long text is packed: '~'
// and its deflated bytes in base64url.

export interface Address {
  panel: string;
  params: URLSearchParams;
}

const kPlain = 300; // characters that stay readable
const kMostPacked = 16_000; // characters of a packed text: longer links are cut by what people send them with
const kMostText = 1 << 20; // characters before packing and after
const kMark = '~';
const kKnown = 16; // texts whose packed form is remembered

/** What a person is told beside a field for long texts. */
export const kFits = 'About 25,000 characters fit in a link.';

/** Packed forms by text. undefined: longer than a link may be. */
const packed = new Map<string, string | undefined>();
/** What will be written once it is packed, over this address. */
let wanted: (Address & { over: string }) | undefined;
let cut = false;

const mustBePacked = (text: string) => text.length > kPlain || text.startsWith(kMark);
const textOf = (form: string) => [...packed].find(([, known]) => known === form)?.[0];

function remember(text: string, form: string | undefined): void {
  packed.delete(text);
  packed.set(text, form);
  const [oldest] = packed.keys();
  if (packed.size > kKnown && oldest !== undefined) packed.delete(oldest);
}

/** All bytes of a stream, or undefined where there are more than this. */
async function bytesOf(stream: ReadableStream<Uint8Array>, most: number): Promise<Uint8Array<ArrayBuffer> | undefined> {
  const reader = stream.getReader();
  const pieces: Uint8Array[] = [];
  for (let size = 0; ;) {
    const { done, value } = await reader.read();
    if (done) return new Uint8Array(await new Blob(pieces as Uint8Array<ArrayBuffer>[]).arrayBuffer());
    pieces.push(value);
    size += value.length;
    if (size <= most) continue;
    await reader.cancel();
    return undefined;
  }
}

async function pack(text: string): Promise<string | undefined> {
  if (text.length > kMostText || typeof CompressionStream === 'undefined') return undefined;
  const stream = new Blob([text]).stream().pipeThrough(new CompressionStream('deflate-raw'));
  const bytes = await bytesOf(stream, (kMostPacked * 3) / 4);
  if (!bytes) return undefined;
  const base64 = btoa(String.fromCharCode(...bytes));
  return kMark + base64.replace(/\+/g, '-').replace(/\//g, '_').replace(/=+$/, '');
}

/** undefined: it is damaged, or longer than what this page writes. */
async function unpack(form: string): Promise<string | undefined> {
  try {
    const base64 = form.slice(kMark.length).replace(/-/g, '+').replace(/_/g, '/');
    const bytes = Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('deflate-raw'));
    const text = await bytesOf(stream, kMostText);
    return text && new TextDecoder().decode(text);
  } catch {
    return undefined;
  }
}

function split(hash: string): Address {
  const [panel = '', query = ''] = hash.replace(/^#/, '').split(/\?(.*)/s);
  return { panel, params: new URLSearchParams(query) };
}

/** To be awaited before an address that came from elsewhere is read. undefined: nothing in it is packed. */
export function unpackAddress(hash = location.hash): Promise<unknown> | undefined {
  const forms = [...split(hash).params.values()].filter((value) => value.startsWith(kMark) && textOf(value) === undefined);
  if (forms.length === 0) return undefined;
  return Promise.all(
    forms.map(async (form) => {
      const text = await unpack(form);
      if (text !== undefined) remember(text, form);
    }),
  );
}

/** What the address says, or will say once it is packed. */
export function readAddress(hash = location.hash): Address {
  const found = split(hash);
  if (wanted?.over === hash) return { panel: wanted.panel, params: new URLSearchParams(wanted.params) };
  for (const [name, value] of [...found.params]) {
    if (!value.startsWith(kMark)) continue;
    const text = textOf(value);
    if (text === undefined) found.params.delete(name);
    else found.params.set(name, text);
  }
  return found;
}

/** Changes the address without a step in the browser's history. A text that is too long for a link is left out. */
export function writeAddress(address: Address): void {
  wanted = { ...address, over: location.hash };
  const mine = wanted;
  const long = [...address.params.values()].filter(mustBePacked);
  const unknown = long.filter((text) => !packed.has(text));
  if (unknown.length > 0) {
    void Promise.all(unknown.map(async (text) => remember(text, await pack(text)))).then(() => {
      if (wanted === mine && location.hash === mine.over) writeAddress(address);
    });
    return;
  }
  wanted = undefined;
  cut = long.some((text) => packed.get(text) === undefined);
  const params = new URLSearchParams(address.params);
  for (const [name, value] of [...params]) {
    if (!mustBePacked(value)) continue;
    const form = packed.get(value);
    if (form === undefined) params.delete(name);
    else params.set(name, form);
  }
  const query = params.toString();
  const hash = `#${address.panel}${query && `?${query}`}`;
  if (hash !== location.hash) history.replaceState(history.state, '', hash);
}

/** Whether the address lacks a text because that is too long. */
export const isCut = () => cut;
