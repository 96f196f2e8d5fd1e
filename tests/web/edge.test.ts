// The entries for the edge (condition `workerd`), tested without it: bundled into one script, in a process without the APIs that are missing
// there. tools/check_fixtures.mjs runs them in workerd. And the stores that a program gives to an index.
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { build } from 'esbuild';
import { Index, pipeline, WattnError, type GivenStore, type IndexStore } from 'wattn';
import { expectError, failure, filesOf, goldens, root, tiny, tinyFiles } from './support.js';

const letters = async (texts: string[]) => texts.map((text) => [text.length, text.split('e').length, 1]);
const kDocuments = [
  { id: 'a', text: 'the river' },
  { id: 'b', text: 'a cold and silver morning' },
];

describe('on the edge', () => {
  let folder: string;
  beforeEach(() => (folder = mkdtempSync(join(tmpdir(), 'wattn-edge-'))));
  afterEach(() => rmSync(folder, { recursive: true }));

  async function run(program: string): Promise<any> {
    const entry = (name: string) => JSON.stringify(join(root, 'dist', `${name}.js`));
    const contents = program.replace(/'wattn(\/(\w[\w-]*))?'/g, (_, __, name) =>
      entry(name === 'languages' ? 'languages_entry' : name ? `${name.replace('-', '_')}_entry_edge` : 'edge'),
    );
    const platformModules = {
      name: 'platform-modules',
      setup: ({ onLoad }: import('esbuild').PluginBuild) =>
        onLoad({ filter: /\.wasm$/ }, ({ path }) => ({
          contents: `export default new globalThis.Compile(globalThis.read(${JSON.stringify(path)}));`,
        })),
    };
    const { outputFiles, warnings } = await build({
      stdin: { contents, resolveDir: root },
      bundle: true,
      format: 'esm',
      write: false,
      external: ['node:*'],
      plugins: [platformModules],
      logLevel: 'silent',
    });
    expect(warnings).toEqual([]);
    const script = join(folder, 'program.mjs');
    // What is there in Node and not there: code that is compiled, files, workers.
    const before = `
      import { readFileSync } from 'node:fs';
      globalThis.read = readFileSync;
      globalThis.Compile = WebAssembly.Module;
      for (const name of ['compile', 'compileStreaming', 'instantiateStreaming'])
        WebAssembly[name] = () => { throw new WebAssembly.CompileError('Wasm code generation disallowed by embedder'); };
      delete globalThis.SharedArrayBuffer;
      globalThis.navigator = { userAgent: 'Cloudflare-Workers' };`;
    writeFileSync(join(folder, 'before.mjs'), before);
    writeFileSync(script, `import './before.mjs';\n${outputFiles[0]!.text}`);
    const { stdout, stderr } = spawnSync(process.execPath, [script], { encoding: 'utf8' });
    if (stderr) throw new Error(stderr);
    return JSON.parse(stdout);
  }

  const inCode = (files: Map<string, Uint8Array>) => {
    const texts = [...files].map(([name, bytes]) => [name, Buffer.from(bytes).toString('base64')]);
    return `Object.fromEntries(${JSON.stringify(texts)}.map(([name, text]) => [name, Uint8Array.from(atob(text), (c) => c.charCodeAt(0))]))`;
  };
  const kGerman =
    'Die alten Brücken führen über den Fluss, und die Häuser stehen nicht weit von ihnen, aber sie sind sehr klein. '.repeat(3);
  const kModel = `const model = ${inCode(tinyFiles())};`;

  it('every entry imports its WebAssembly and gives the bits of Node', async () => {
    const found = await run(`
      import { Index, pipeline } from 'wattn';
      import { nn } from 'wattn/nn';
      import { AutoTokenizer } from 'wattn/tokenizer';
      import { WattnEmbeddings } from 'wattn/langchain';
      ${kModel}
      const embed = await pipeline('feature-extraction', model, { threads: 4 });
      const index = await Index.open('notes', { embed, store: 'memory' });
      await index.add(${JSON.stringify(kDocuments)});
      await nn.ready();
      console.log(JSON.stringify({
        data: [...(await embed('the river')).data],
        info: [embed.info().threads, embed.info().threads_reason],
        hit: (await index.search('the river'))[0].id,
        linear: new nn.Linear(2, 3).num_parameters(),
        ids: (await AutoTokenizer.from_pretrained(model)).encode('the river'),
        vector: await new WattnEmbeddings({ model: embed }).embedQuery('the river'),
      }));`);
    const embed = await pipeline('feature-extraction', tiny);
    const data = [...(await embed('the river')).data];
    expect(found).toMatchObject({ data, hit: 'a', linear: 9, info: [1, 'there are no threads on the edge'] });
    expect(found.ids.length).toBeGreaterThan(2);
    expect(found.vector).toHaveLength(32);
    await embed.dispose();
  });

  it('names what is not there, and what to do', async () => {
    const said = await run(`
      import { Index, nn, packModel, pipeline, AutoTokenizer, WattnError, distill } from 'wattn';
      ${kModel}
      const add = async (language) => (await Index.open('notes', { store: 'memory', language })).add({ id: 'a', text: ${JSON.stringify(kGerman)} });
      const decoder = ${inCode(filesOf(join(goldens, 'decoders/llama')))};
      const write = async (text, options) => (await pipeline('text-generation', decoder))(text, options);
      const tries = [
        () => write('abc', { response_format: { type: 'choice', choice: ['a'] } }),
        () => pipeline('feature-extraction'),
        () => pipeline('feature-extraction', './model'),
        () => pipeline('feature-extraction', model, { worker: true }),
        () => nn.ready(),
        () => AutoTokenizer.train(['a text'], { model: 'wordpiece', vocab_size: 40 }),
        () => Index.open('notes'),
        () => Index.open('notes', { store: 'opfs' }),
        () => packModel(model),
        async () => distill(await pipeline('feature-extraction', model)),
        () => add('de'),
        () => add('auto'),
      ];
      const said = [];
      for (const work of tries)
        said.push(await work().then(() => 'nothing', (error) => (error instanceof WattnError ? '' : 'raw ') + error.message));
      console.log(JSON.stringify(said));`);
    expect(said).toEqual([
      expect.stringMatching(/^response_format: the edge build has no constraints; generate in a page, Node or Deno/),
      expect.stringMatching(/^model: wattn-default.gguf is not in this bundle, .*: name a model by its URL, or pass its bytes/),
      expect.stringMatching(/^model: '.\/model' is a path, and there are no files here/),
      expect.stringMatching(/^worker: there are no workers on the edge: load the model without/),
      expect.stringMatching(/^wasm: wattn-nn.wasm is not in this bundle: import 'wattn\/nn', too/),
      expect.stringMatching(/^wasm: wattn-tokenizer.wasm is not in this bundle: import 'wattn\/tokenizer', too/),
      expect.stringMatching(/^Index: 'notes' cannot be kept here without the option 'store': expected an R2 bucket, .*found none/),
      expect.stringMatching(/found 'opfs'$/),
      expect.stringMatching(/^pack: the edge build cannot pack: pack in Node, Deno or a page/),
      expect.stringMatching(/^distill: the edge build cannot distil: distil in Node, Deno or a page/),
      expect.stringMatching(/^language: the words of 'de' are not in this bundle: import 'wattn\/languages', too/),
      expect.stringMatching(/^language: the words of 'de' are not in this bundle: import 'wattn\/languages', too/),
    ]);
  });

  it('has English in `wattn` and the other languages in `wattn/languages`', async () => {
    const program = (language: string, text: string, query: string) => `
      {
        const notes = await Index.open('notes', { store: 'memory', language: '${language}' });
        await notes.add({ id: 'a', text: '${text}' });
        found.push((await notes.search('${query}')).length);
      }`;
    const english = program('en', 'The bridges over the river', 'bridge');
    const both = await run(`
      import { Index } from 'wattn';
      import 'wattn/languages';
      const found = [];
      ${english}${program('de', kGerman, 'Brücke')}${program('auto', kGerman, 'Brücke')}
      console.log(JSON.stringify(found));`);
    expect(both).toEqual([1, 1, 1]);
    expect(await run(`import { Index } from 'wattn'; const found = [];${english} console.log(JSON.stringify(found));`)).toEqual([
      1,
    ]);
  });

  it('computes on the processor whichever device is asked for', async () => {
    const found = await run(`
      import { pipeline } from 'wattn';
      ${kModel}
      const said = [];
      for (const device of ['webgpu', 'auto']) {
        const embed = await pipeline('feature-extraction', model, { device });
        const { data } = await embed('the river');
        said.push([embed.info().device, embed.info().device_reason, data.length]);
        await embed.dispose();
      }
      console.log(JSON.stringify(said));`);
    expect(found).toEqual(Array(2).fill(['wasm', 'there is no GPU on the edge', 32]));
  });
});

/** A store over a Map. */
function ownStore(values = new Map<string, Uint8Array>()): IndexStore {
  return {
    list: async (prefix) => [...values.keys()].filter((key) => key.startsWith(prefix)),
    get: async (key) => values.get(key),
    put: async (key, bytes, isNew) => (isNew && values.has(key) ? false : !!values.set(key, bytes.slice())),
    delete: async (key) => values.delete(key),
  };
}

/** What Cloudflare binds, over a Map: in pages of two, so that a cursor matters. */
function bucket(values = new Map<string, Uint8Array>()) {
  return {
    async list({ prefix, cursor = '0' }: { prefix: string; cursor?: string }) {
      const keys = [...values.keys()].filter((key) => key.startsWith(prefix)).sort();
      const end = Number(cursor) + 2;
      const objects = keys.slice(Number(cursor), end).map((key) => ({ key }));
      return { objects, truncated: end < keys.length, cursor: String(end) };
    },
    get: async (key: string) => (values.has(key) ? { arrayBuffer: async () => values.get(key)!.slice().buffer } : null),
    async put(key: string, bytes: Uint8Array, { onlyIf }: { onlyIf?: { etagDoesNotMatch: string } } = {}) {
      if (onlyIf?.etagDoesNotMatch === '*' && values.has(key)) return null;
      values.set(key, bytes.slice());
      return { key };
    },
    delete: async (key: string) => void values.delete(key),
    createMultipartUpload: () => undefined,
  };
}

function durableStorage(values = new Map<string, unknown>()) {
  const storage = {
    list: async ({ prefix }: { prefix: string }) => new Map([...values].filter(([key]) => key.startsWith(prefix))),
    get: async (key: string) => values.get(key),
    async put(key: string, value: Uint8Array | number) {
      if (typeof value !== 'number' && value.length > 131_072) throw new RangeError('Values cannot be larger than 131072 bytes.');
      values.set(key, structuredClone(value));
    },
    delete: async (key: string) => values.delete(key),
    transaction: async <T>(run: (within: unknown) => Promise<T>): Promise<T> => run(storage),
    getAlarm: async () => null,
  };
  return storage;
}

/** stale: what `get` answers for a while after a write, as another place of the network would. */
function keyValue(values = new Map<string, Uint8Array>(), stale: { value?: Uint8Array | null } = {}) {
  return {
    list: async ({ prefix }: { prefix: string }) => ({
      keys: [...values.keys()].filter((key) => key.startsWith(prefix)).map((name) => ({ name })),
      list_complete: true,
    }),
    get: async (key: string) => ('value' in stale ? stale.value : values.get(key))?.slice().buffer ?? null,
    put: async (key: string, bytes: Uint8Array) => void values.set(key, bytes.slice()),
    delete: async (key: string) => void values.delete(key),
    getWithMetadata: () => undefined,
  };
}

const kStores: Record<string, () => GivenStore> = { own: ownStore, R2: bucket, 'a Durable Object': durableStorage, KV: keyValue };

describe.each(Object.entries(kStores))('an index in a given store: %s', (kind, make) => {
  const open = (store: GivenStore) => Index.open('my notes', { embed: letters, store });

  it('is there again, is listed, checked, changed and deleted', async () => {
    const store = make();
    const index = await open(store);
    await index.add(kDocuments);
    await index.add([{ id: 'c', text: 'c', more: 'x'.repeat(300_000) }]);
    await index.delete('a');
    expect(index.info().store).toBe(kind === 'own' ? 'the given store' : kind);
    const again = await open(store);
    expect(again.ids()).toEqual(['b', 'c']);
    expect((again.get('c') as { more?: string }).more).toHaveLength(300_000);
    expect((await again.search('a cold morning'))[0]?.id).toBe('b');
    expect(await Index.list({ store })).toMatchObject([{ name: 'my notes' }]);
    expect(await Index.check('my notes', { store })).toMatchObject({ sound: true });
    for (let i = 0; i < 20; ++i) await again.add([{ id: `n${i}`, text: 'text' }]); // segments are joined
    expect((await open(store)).size).toBe(22);
    await Index.delete('my notes', { store });
    expect(await Index.list({ store })).toEqual([]);
    expect((await open(store)).size).toBe(0);
  });

  it('fails with errors of wattn when a call of the store does', async () => {
    const names = Object.keys(make()).filter((name) => !/Alarm|Metadata|Multipart/.test(name));
    for (const name of names) {
      const store = make() as unknown as Record<string, unknown>;
      const index = await open(store as unknown as GivenStore);
      await index.add(kDocuments);
      const broken = () => Promise.reject(new TypeError('it is gone'));
      store[name] = broken;
      const said = await Promise.all([
        failure(open(store as unknown as GivenStore)).catch(() => undefined),
        failure(async () => await index.add([{ id: 'z', text: 'z' }])).catch(() => undefined),
        failure(Index.list({ store: store as unknown as GivenStore })).catch(() => undefined),
        failure(Index.delete('my notes', { store: store as unknown as GivenStore })).catch(() => undefined),
      ]);
      const errors = said.filter((error) => error !== undefined);
      expect(errors.length).toBeGreaterThan(0);
      for (const error of errors) {
        expect(error).toBeInstanceOf(WattnError);
        expect(String(error)).toMatch(/it is gone/);
      }
    }
  });
});

describe('a given store', () => {
  it('keeps the writes of several writers', async () => {
    for (const make of [ownStore, bucket, durableStorage]) {
      const store = make() as GivenStore;
      const writers = await Promise.all([0, 1, 2].map(() => Index.open('notes', { store })));
      await Promise.all(
        writers.flatMap((index, i) => [0, 1, 2].map((j) => index.add([{ id: `${i}${j}`, text: `text ${i} ${j}` }]))),
      );
      expect((await Index.open('notes', { store })).size).toBe(9);
    }
  });

  it('that shows an older value for a while loses nothing of its writer', async () => {
    const values = new Map<string, Uint8Array>();
    const stale: { value?: Uint8Array | null } = {};
    const index = await Index.open('notes', { store: keyValue(values, stale) });
    await index.add([{ id: 'a', text: 'one' }]);
    stale.value = values.get('wattn/notes')!;
    await index.add([{ id: 'b', text: 'two' }]);
    await index.add([{ id: 'c', text: 'three' }]);
    delete stale.value;
    expect((await Index.open('notes', { store: keyValue(values) })).ids()).toEqual(['a', 'b', 'c']);
  });

  it('that answers something else is named', async () => {
    const open = (change: object) => Index.open('notes', { store: { ...ownStore(), ...change } as unknown as IndexStore });
    await expectError(
      open({ list: async () => 'a' }),
      'InputError',
      /option 'store': list: expected it to return an array of keys, found 'a'/,
    );
    await expectError(
      open({ get: async () => 5 }),
      'InputError',
      /option 'store': get: expected it to return bytes or undefined, found 5/,
    );
    const index = await open({ put: async () => undefined });
    await expectError(
      async () => await index.add(kDocuments),
      'InputError',
      /option 'store': put: expected it to return true or false, found undefined/,
    );
    await expectError(
      Index.open('notes', { store: 5 as never }),
      'InputError',
      /expected a string, or an object with list, get, put and delete/,
    );
    await expectError(Index.list({ store: {} as never }), 'InputError', /expected a string, or an object with list/);
    const damaged = keyValue(new Map([['wattn/notes', Uint8Array.of(9, 9, 9)]]));
    await expectError(Index.open('notes', { store: damaged }), 'ModelFormatError', /the value of wattn\/notes in KV is damaged/);
  });
});
