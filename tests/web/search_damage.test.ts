// Index with damaged files: stored documents are found, or an error reports the damage, and repair keeps the rest.
import { createHash } from 'node:crypto';
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Index, ModelFormatError, UnsupportedError, WattnError, type EmbedFunction, type IndexDocument } from 'wattn';
import { decodeSegment, encodeSegment, type Segment } from '../../web/search/segments.js';
import { isStored } from '../../web/search/stored_documents.js';
import { root } from './support.js';

const letters: EmbedFunction = async (texts) =>
  texts.map((text) => Array.from({ length: 8 }, (_, i) => [...text].filter((c) => c.codePointAt(0)! % 8 === i).length + 0.5));

let folder: string;
beforeEach(() => (folder = mkdtempSync(join(tmpdir(), 'wattn-damage-'))));
afterEach(() => rmSync(folder, { recursive: true }));

const documentsOf = async (name = 'notes') => {
  const index = await Index.open(name, { store: folder });
  const all = index.ids().map((id) => index.get(id)!);
  await index.dispose();
  return all.sort((a, b) => (a.id < b.id ? -1 : 1));
};
const place = (file = '') => join(folder, 'notes', file);
const filesOf = () =>
  readdirSync(place())
    .sort()
    .map((file) => [file, readFileSync(place(file))] as const);
const segmentsOf = () => filesOf().filter(([file]) => !file.startsWith('head'));

// WATTN_EVERY: 1: every byte, as before a release; n: every n-th.
const kEvery = Number(process.env['WATTN_EVERY'] ?? 17);

type Files = (readonly [string, Uint8Array])[];
const replaced = (files: Files, at: number, bytes: Uint8Array): Files =>
  files.map((each, i) => (i === at ? ([each[0], bytes] as const) : each));
function lay(files: Files): void {
  rmSync(place(), { recursive: true, force: true });
  mkdirSync(place(), { recursive: true });
  for (const [file, bytes] of files) writeFileSync(place(file), bytes);
}

/** What opening says of some files: all documents, or an error of this library that names the place. Nothing else may be. */
async function judged(files: Files, all: readonly IndexDocument[], what: string): Promise<'whole' | 'refused'> {
  lay(files);
  try {
    const found = await documentsOf();
    expect([what, found]).toEqual([what, all]);
    return 'whole';
  } catch (error) {
    if (!(error instanceof WattnError)) throw error;
    expect([what, error.message]).toEqual([what, expect.stringContaining(`'notes' in ${place()}`)]);
    return 'refused';
  }
}

async function madeIndex(): Promise<void> {
  const index = await Index.open('notes', { store: folder, embed: letters });
  await index.add([
    { id: 'a', text: 'one' },
    { id: 'b', text: 'two' },
  ]);
  await index.add({ id: 'c', text: 'three' });
  await index.delete('a');
  await index.dispose();
}

describe('damage', () => {
  it.each(['files of this version', 'files of version 1'])('of any byte is reported, or does not matter: %s', async (version) => {
    if (version.endsWith('1')) cpSync(join(root, 'tests/goldens/index_v1/vectors'), place(), { recursive: true });
    else await madeIndex();
    const files = filesOf();
    const all = await documentsOf();
    let count = 0;
    for (const [at, [file, bytes]] of files.entries()) {
      for (let i = at % kEvery; i < bytes.length; i += kEvery) {
        const changed = Uint8Array.from(bytes);
        changed[i]! ^= 1 << (i % 8);
        const answer = await judged(replaced(files, at, changed), all, `byte ${i} of ${file}`);
        // The head has two copies of what it says.
        expect([file, i, answer]).toEqual([file, i, file.startsWith('head') ? 'whole' : 'refused']);
        ++count;
      }
    }
    expect(count).toBeGreaterThan(700 / kEvery);
  });

  it.each(['files of this version', 'files of version 1'])('of a file that is cut is reported: %s', async (version) => {
    if (version.endsWith('1')) cpSync(join(root, 'tests/goldens/index_v1/vectors'), place(), { recursive: true });
    else await madeIndex();
    const files = filesOf();
    const all = await documentsOf();
    for (const [at, [file, bytes]] of files.entries()) {
      // Without a head, an empty last segment is a write that did not end: private files of a page begin so.
      const least = version.endsWith('1') && at === files.length - 1 ? 1 : 0;
      for (let length = least + (at % kEvery); length < bytes.length; length += kEvery) {
        const answer = await judged(replaced(files, at, bytes.subarray(0, length)), all, `${length} bytes of ${file}`);
        if (!file.startsWith('head')) expect([file, length, answer]).toEqual([file, length, 'refused']);
      }
    }
  });

  it('by a segment that is missing, old, doubled or of another index is reported', async () => {
    await madeIndex();
    const before = segmentsOf();
    const index = await Index.open('notes', { store: folder, embed: letters });
    await index.add({ id: 'd', text: 'four' });
    await index.dispose();
    const files = filesOf();
    const all = await documentsOf();
    const heads = files.filter(([file]) => file.startsWith('head'));
    const segments = segmentsOf();
    for (const [file] of segments) {
      expect(
        await judged(
          files.filter(([other]) => other !== file),
          all,
          `without ${file}`,
        ),
      ).toBe('refused');
    }
    // The segments of an earlier time; the present head says that there was one more.
    expect(await judged([...before, ...heads], all, 'old segments')).toBe('refused');
    expect(await judged(segments, all, 'without a head')).toBe('refused');
    expect(await judged(heads, all, 'the head alone')).toBe('refused');
    const [, [second, bytes]] = segments as unknown as [Files[0], Files[0]];
    const id = second.slice(0, 16);
    for (const [name, answer] of [
      ['00000004-00000004-00000000', 'refused'], // as the next write
      ['00000001-00000001-00000001', 'whole'], // as a newer version: the right one is there too
      ['00000000-00000003-00000001', 'whole'], // as a larger one
      ['00000009-00000009-00000000', 'refused'], // later than the next
    ] as const) {
      expect([name, await judged([...files, [`${id}-${name}`, bytes]], all, name)]).toEqual([name, answer]);
    }
    const foreign = `0123456789abcdef${second.slice(16)}`;
    expect(await judged([...files, [foreign, bytes]], all, 'foreign')).toBe('refused');
    // One of the same name and place that another index wrote: its own hashes are right.
    rmSync(folder, { recursive: true });
    await madeIndex();
    const other = segmentsOf()[1]![1];
    expect(
      await judged(
        files.map((each) => (each[0] === second ? [second, other] : each)),
        all,
        'of another',
      ),
    ).toBe('refused');
  });

  it('says what is damaged, and repair keeps all that is sound', async () => {
    await madeIndex();
    const files = filesOf();
    const segments = segmentsOf();
    const sound: Record<number, string[]> = { 0: ['c'], 1: ['b'], 2: ['a', 'b', 'c'] };
    for (const [at, [file, bytes]] of segments.entries()) {
      const changed = Uint8Array.from(bytes);
      changed[changed.length - 1]! ^= 1;
      for (const [state, damaged] of [
        ['damaged', files.map((each) => (each[0] === file ? ([file, changed] as const) : each))],
        ['missing', files.filter((each) => each[0] !== file)],
      ] as [string, Files][]) {
        lay(damaged);
        const { sound: isSound, problems, store } = await Index.check('notes', { store: folder });
        expect([isSound, store]).toEqual([false, place()]);
        expect(problems.some((problem) => problem.state === state)).toBe(true);
        if (state === 'damaged')
          expect(problems).toContainEqual(expect.objectContaining({ file, what: 'its SHA-256 does not match (block 0)' }));
        const repaired = await Index.repair('notes', { store: folder });
        expect([repaired.documents, repaired.lost.length > 0]).toEqual([sound[at]!.length, true]);
        expect((await documentsOf()).map(({ id }) => id)).toEqual(sound[at]);
        expect(await Index.check('notes', { store: folder })).toMatchObject({ sound: true, problems: [] });
        const index = await Index.open('notes', { store: folder, embed: letters });
        await index.add({ id: 'later', text: 'a bun' });
        expect((await index.search('bun', { mode: 'words' })).map(({ id }) => id)).toEqual(['later']);
        await index.dispose();
      }
    }
    // A head that is gone, or damaged in both copies, loses no document.
    for (const bytes of [undefined, new Uint8Array(96).fill(7)]) {
      const others = files.filter(([file]) => !file.startsWith('head'));
      lay(bytes ? [...others, ['head-0', bytes], ['head-1', bytes]] : others);
      await expect(documentsOf()).rejects.toThrow(ModelFormatError);
      expect((await Index.repair('notes', { store: folder })).documents).toBe(2);
      expect((await documentsOf()).map(({ id }) => id)).toEqual(['b', 'c']);
    }
    // Nothing to repair: nothing changes.
    const now = filesOf();
    expect(await Index.repair('notes', { store: folder })).toMatchObject({ documents: 2, lost: [] });
    expect(filesOf()).toEqual(now);
  });

  it('of one block leaves the documents in other blocks', async () => {
    const index = await Index.open('notes', { store: folder });
    const long = (i: number) => ({ id: `long ${i}`, text: `word${i} `.repeat(60_000) });
    await index.add(
      Array.from({ length: 6 }, (_, i) => long(i)),
      {},
    );
    await index.dispose();
    const [file, bytes] = segmentsOf().sort((a, b) => b[1].length - a[1].length)[0]!;
    bytes[bytes.length - 100]! ^= 1; // the last document alone
    writeFileSync(place(file), bytes);
    await expect(documentsOf()).rejects.toThrow('its SHA-256 does not match (block ');
    const { problems } = await Index.check('notes', { store: folder });
    const lost = problems.find(({ state }) => state === 'damaged')!.lost!.documents;
    expect(lost).toBeGreaterThan(0);
    expect(lost).toBeLessThan(4);
    const { documents } = await Index.repair('notes', { store: folder });
    expect(documents).toBe(6 - lost);
    expect((await documentsOf())[0]!.text.length).toBe(long(0).text.length);
  });

  it('of a file from another place is reported', async () => {
    const index = await Index.open('from', { store: 'memory', embed: letters });
    await index.add(Array.from({ length: 5000 }, (_, i) => ({ id: String(i), text: `text ${i}` })));
    const file = await index.export();
    const to = await Index.open('to', { store: 'memory', embed: letters });
    const parts = [...file.keys()].filter((i) => file[i] === 119 && String.fromCharCode(...file.subarray(i, i + 8)) === 'wattnidx');
    expect(parts.length).toBe(2);
    const [, second] = parts as [number, number];
    const swapped = Buffer.concat([file.subarray(second), file.subarray(0, second)]);
    for (const wrong of [
      file.subarray(0, second),
      file.subarray(second),
      swapped,
      file.subarray(0, -1),
      Buffer.concat([file, file]),
    ]) {
      await expect(to.import_file(wrong)).rejects.toThrow(ModelFormatError);
    }
    for (let i = 0; i < file.length; i += 199 * kEvery) {
      const changed = Uint8Array.from(file);
      changed[i]! ^= 4;
      await expect(to.import_file(changed)).rejects.toThrow(WattnError);
    }
    expect(to.size).toBe(0);
    expect(await to.import_file(file)).toBe(5000);
    expect(to.size).toBe(5000);
  });
});

describe('an index of version 1', () => {
  const golden = (file: string) => join(root, 'tests/goldens/index_v1', file);
  it.each(['words', 'vectors'])('opens, is written on, and is whole when that ends at any moment: %s', async (kind) => {
    const all = (JSON.parse(readFileSync(golden(`${kind}.json`), 'utf8')) as IndexDocument[]).sort((a, b) =>
      a.id < b.id ? -1 : 1,
    );
    cpSync(golden(kind), place(), { recursive: true });
    expect(await documentsOf()).toEqual(all);
    expect(await Index.check('notes', { store: folder })).toMatchObject({ sound: true, documents: all.length, problems: [] });
    const old = filesOf();
    const embed = kind === 'vectors' ? letters : undefined;
    const index = await Index.open('notes', { store: folder, embed });
    if (embed) expect((await index.search('single 3 \ud800 half', { mode: 'meaning', top_k: 1 }))[0]!.id).toBe('e3');
    for (let i = 0; i < 12; ++i) await index.add({ id: `new${i}`, text: `added ${i}` });
    await index.dispose();
    expect((await documentsOf()).length).toBe(all.length + 12);
    // The head is made before the first segment of this version.
    const heads = filesOf().filter(([file]) => file.startsWith('head'));
    lay([...old, ...heads]);
    await expect(documentsOf()).rejects.toThrow('its write 12 is missing, and its head says that there are 24');
  });

  it('is refused where its first segment is gone', async () => {
    cpSync(golden('words'), place(), { recursive: true });
    lay(filesOf().slice(1));
    await expect(documentsOf()).rejects.toThrow('its write 0 is missing, and others are there');
    const { documents } = await Index.repair('notes', { store: folder });
    expect((await documentsOf()).length).toBe(documents);
    expect(documents).toBe(3); // of the writes that are there: d4 and d5, whose fields changed, and e7
  });

  it.each(['words', 'vectors'])('is taken in from its file: %s', async (kind) => {
    const index = await Index.open('notes', { store: 'memory', embed: kind === 'vectors' ? letters : undefined });
    const all = JSON.parse(readFileSync(golden(`${kind}.json`), 'utf8')) as IndexDocument[];
    expect(await index.import_file(readFileSync(golden(`${kind}.wattnidx`)))).toBe(all.length);
    expect(index.ids().map((id) => index.get(id))).toEqual(all);
  });
});

describe('a later version', () => {
  it('is refused by name, and repair leaves it alone', async () => {
    await madeIndex();
    const files = filesOf();
    const [segment] = segmentsOf().map(([file]) => file) as [string];
    const version = (bytes: Uint8Array) => {
      const changed = Uint8Array.from(bytes);
      changed[8] = 4;
      changed[60] ^= 1; // what follows is of that version, too
      return changed;
    };
    lay(files.map(([file, bytes]) => [file, file === segment ? version(bytes) : bytes]));
    for (const call of [
      () => documentsOf(),
      () => Index.check('notes', { store: folder }),
      () => Index.repair('notes', { store: folder }),
    ]) {
      await expect(call()).rejects.toThrow(UnsupportedError);
      await expect(call()).rejects.toThrow(/expected a version up to 3 of the format, found 4: a later version of wattn wrote it/);
    }
  });

  it('of the head is refused, too, whichever copy has it', async () => {
    await madeIndex();
    const files = filesOf();
    const later = (bytes: Uint8Array) => {
      const changed = Uint8Array.from(bytes);
      changed[8] = 2;
      changed.set(createHash('sha256').update(changed.subarray(0, 64)).digest(), 64);
      return changed;
    };
    for (const head of ['head-0', 'head-1']) {
      const changed: Files = files.map(([file, bytes]) => [file, file === head ? later(bytes) : bytes]);
      lay(changed);
      for (const call of [documentsOf, () => Index.repair('notes', { store: folder })]) {
        await expect(call()).rejects.toThrow(UnsupportedError);
        await expect(call()).rejects.toThrow(/expected version 1 of its head, found 2: a later version of wattn wrote it/);
      }
      expect(filesOf().map(([file, bytes]) => [file, [...bytes]])).toEqual(changed.map(([file, bytes]) => [file, [...bytes]]));
    }
  });
});

describe('a segment', () => {
  const sound = { documents: [{ document: { id: 'a', text: 'one' }, chunks: [] }], deleted: ['b'], vectors: new Uint8Array() };
  const read = async (change: object) => {
    const { bytes } = await encodeSegment({ ...sound, ...change } as Segment, { name: 'x', before: '' });
    return decodeSegment('x', bytes);
  };

  it.each<[string, object]>([
    ['a document that is none', { documents: [{ document: { id: 'a' }, chunks: [] }] }],
    ['a deleted identifier that is none', { deleted: [3] }],
    ['vectors without a model', { vectors: new Uint8Array(12) }],
  ])('is refused for %s, whatever its SHA-256 says', async (_, change) => {
    expect(await read({})).toMatchObject({ documents: sound.documents, deleted: ['b'] });
    await expect(read(change)).rejects.toThrow('its contents are inconsistent');
  });
});

describe('a stored document', () => {
  const isSound = (chunks: unknown, document: object = { id: 'a', text: 'one' }) => isStored({ document, chunks });

  it.each([[[]], [[0, 0]], [[0, 3]], [[3, 3]], [[0, 2, 1, 3]]])('has parts of its text: %j', (chunks) =>
    expect(isSound(chunks)).toBe(true),
  );

  it.each([[[0]], [[2, 1]], [[0, 4]], [[4, 4]], [[-1, 2]], [[0.5, 2]], [['0', 2]], [[null, 2]], [[0, 3, 0, 9]], [{ length: 0 }]])(
    'has no others: %j',
    (chunks) => expect(isSound(chunks)).toBe(false),
  );

  it('has an identifier and a text, and a title that is a text', () => {
    expect(isSound([], { id: '', text: '', title: '' })).toBe(true);
    for (const wrong of [{ id: 1, text: '' }, { id: 'a' }, { id: 'a', text: null }, { id: 'a', text: '', title: 3 }, [], null])
      expect(isSound([], wrong as object)).toBe(false);
  });
});

describe('files of others', () => {
  it('are never touched, and a folder that has them stays', async () => {
    const own = [
      'LICENSE',
      'Makefile',
      'a.txt',
      'id_rsa',
      '0123456789abcdef',
      '0123456789abcdef-1-2-3',
      'head.txt',
      'writer.lock.txt',
    ];
    mkdirSync(join(folder, 'src'));
    for (const file of own) writeFileSync(join(folder, 'src', file), file);
    for (const call of [
      () => Index.delete('src', { store: folder }),
      () => Index.open('src', { store: folder }),
      () => Index.repair('src', { store: folder }),
    ]) {
      await expect(call()).rejects.toThrow(/expected a folder of an index, found one with '/);
    }
    await madeIndex();
    writeFileSync(place('README'), 'mine');
    mkdirSync(place('sub'));
    await Index.repair('notes', { store: folder });
    await Index.delete('notes', { store: folder });
    expect(readdirSync(place()).sort()).toEqual(['README', 'sub']);
    expect(readdirSync(join(folder, 'src')).sort()).toEqual(own.sort());
    expect(readFileSync(join(folder, 'src', 'id_rsa'), 'utf8')).toBe('id_rsa');
  });

  it.each([
    '.',
    '..',
    '...',
    '../x',
    'a/b',
    'a\\b',
    '/etc',
    '\ud800',
    'a\udc00',
    'con',
    'NUL.txt',
    'com1',
    'lpt\u00b2',
    '',
    'x'.repeat(201),
    3,
  ])('are not named by the name %p', async (name) => {
    const options = { store: folder };
    for (const call of [Index.open, Index.delete, Index.check, Index.repair]) {
      await expect(call(name as string, options)).rejects.toThrow(/^Index\.\w+: expected (a|the) name/);
    }
    expect(readdirSync(folder)).toEqual([]);
  });

  it('are the only ones there after an index was opened, read and deleted that nobody wrote', async () => {
    const index = await Index.open('typing error', { store: join(folder, 'new') });
    expect(await index.search('x')).toEqual([]);
    expect(await index.delete('x')).toBe(0);
    await index.dispose();
    await Index.delete('typing error', { store: join(folder, 'new') });
    await Index.check('typing error', { store: join(folder, 'new') });
    await Index.repair('typing error', { store: join(folder, 'new') });
    expect(readdirSync(folder)).toEqual([]);
  });

  it('are not listed', async () => {
    await madeIndex();
    const emoji = await Index.open('ü 🍞 a.b', { store: folder });
    await emoji.add({ id: 'x', text: 'bread' });
    await emoji.dispose();
    mkdirSync(join(folder, 'src'));
    writeFileSync(join(folder, 'src', 'LICENSE'), '');
    expect(await Index.list({ store: folder })).toEqual([
      { name: 'notes', store: place() },
      { name: 'ü 🍞 a.b', store: join(folder, encodeURIComponent('ü 🍞 a.b')) },
    ]);
    expect(await Index.list({ store: 'memory' })).toEqual([]);
    expect(await Index.list({ store: join(folder, 'nothing') })).toEqual([]);
  });
});
