// The package's entries as files: importing them has no effect, and some need files beside them.
import { spawnSync } from 'node:child_process';
import { copyFileSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { build as esbuild } from 'esbuild';
import {
  AutoTokenizer as InlineTokenizer,
  env as inlineEnv,
  Index as InlineIndex,
  nn,
  pipeline as inlinePipeline,
} from 'wattn/inline';
import { Index, pipeline } from 'wattn';
import { expectError, goldens, headFiles, root, tiny } from './support.js';

const texts = ['the river', 'a boat'];

function node(folder: string, script: string) {
  const { status, stdout, stderr } = spawnSync(process.execPath, ['--input-type=module', '-e', script], {
    cwd: folder,
    encoding: 'utf8',
  });
  return { status, stdout: stdout.trim(), stderr };
}

describe('importing', () => {
  const entries = [
    'index',
    'nn_entry',
    'train_entry',
    'tokenizer_entry',
    'count_entry',
    'ai_sdk_entry',
    'langchain_entry',
    'llamaindex_entry',
    'react_entry',
    'languages_entry',
    'inline',
    'inline_train',
    'node',
    'nn_entry_node',
    'train_entry_node',
    'tokenizer_entry_node',
    'count_entry_node',
    'ai_sdk_entry_node',
    'langchain_entry_node',
    'llamaindex_entry_node',
    'inline_node',
    'inline_train_node',
  ];

  it('fetches, starts, defines and says nothing, as a server that renders pages wants it', () => {
    const script = `
      for (const name of ['fetch', 'Worker', 'WebSocket', 'setTimeout', 'setInterval'])
        globalThis[name] = () => { throw new Error('called ' + name); };
      for (const name of ['compile', 'instantiate', 'compileStreaming', 'Memory'])
        WebAssembly[name] = () => { throw new Error('called WebAssembly.' + name); };
      const before = Object.getOwnPropertyNames(globalThis).length;
      for (const entry of ${JSON.stringify(entries)})
        await import(${JSON.stringify(pathToFileURL(`${join(root, 'dist')}/`).href)} + entry + '.js');
      process.stdout.write(String(Object.getOwnPropertyNames(globalThis).length - before));`;
    expect(node(root, script)).toEqual({ status: 0, stdout: '0', stderr: '' });
  });
});

describe('what a bundler makes of one import', () => {
  let folder: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'wattn-bundled-'));
    mkdirSync(join(folder, 'model'));
    for (const [name, bytes] of headFiles('masked_lm')) if (!name.includes('/')) writeFileSync(join(folder, 'model', name), bytes);
  });
  afterEach(() => rmSync(folder, { recursive: true }));

  // No entry of a page sets anything up when it loads, so each export must bring what it needs: the WebAssembly's place, and the tasks.
  const kUses: Record<string, [entry: string, use: string]> = {
    pipeline: ['index', "const fill = await it('fill-mask', files); const [{ token }] = await fill('a [MASK]'); return token > 0;"],
    AutoTokenizer: ['index', "const tokenizer = await it.from_pretrained(files); return tokenizer.encode('the river').length > 2;"],
    AutoModel: ['index', 'const model = await it.from_pretrained(files); return (await model({ input_ids: [[2, 5, 3]] })).last_hidden_state.dims[2] === 32;'],
    describeModel: ['index', "return (await it(files)).kind === 'encoder';"],
    Trainer: ['train_entry', "const trainer = await it.from_pretrained(files, { task: 'text-classification' }); return (await trainer.plan({ tokens: 8 })).total > 0;"],
    AutoTokenizer_alone: ['tokenizer_entry', "const tokenizer = await it.from_pretrained(files); return tokenizer.encode('the river').length > 2;"],
  }; // prettier-ignore
  const program = (name: string) => {
    const [entry, use] = kUses[name]!;
    return `
      import { ${name.split('_')[0]} as it } from ${JSON.stringify(join(root, 'dist', `${entry}.js`))};
      globalThis.uses = async (files) => { ${use} };`;
  };

  /** Runs a page's script in Node, which cannot fetch files by itself. */
  function run(script: string) {
    return node(
      folder,
      `
      import { readdirSync, readFileSync } from 'node:fs';
      globalThis.fetch = async (url) => new Response(readFileSync(new URL(url)), { headers: { 'content-type': 'application/wasm' } });
      const files = new Map(readdirSync('model').map((file) => [file, new Uint8Array(readFileSync('model/' + file))]));
      await import(${JSON.stringify(pathToFileURL(script).href)});
      console.log(await globalThis.uses(files));`,
    );
  }

  it.each(Object.keys(kUses))('%s, by esbuild', async (name) => {
    writeFileSync(join(folder, 'page.js'), program(name));
    for (const file of readdirSync(join(root, 'dist'))) {
      if (file.endsWith('.wasm')) symlinkSync(join(root, 'dist', file), join(folder, file));
    }
    await esbuild({
      entryPoints: [join(folder, 'page.js')],
      outdir: folder,
      outExtension: { '.js': '.mjs' },
      bundle: true,
      splitting: true,
      format: 'esm',
      logLevel: 'silent', // it warns of what is beside index and not needed
    });
    expect(run(join(folder, 'page.mjs'))).toEqual({ status: 0, stdout: 'true', stderr: '' });
  });

  it.each(Object.keys(kUses))('%s, by Vite', async (name) => {
    writeFileSync(join(folder, 'page.js'), program(name));
    const options = `{ root: ${JSON.stringify(folder)}, base: './', logLevel: 'silent', configFile: false, build: { modulePreload: false,
      rollupOptions: { input: 'page.js', output: { entryFileNames: 'page.mjs', chunkFileNames: '[name].mjs' } } } }`;
    // In a process of its own: it refuses objects of a realm of Jest's.
    expect(node(root, `await (await import('vite')).build(${options})`)).toMatchObject({ status: 0 });
    expect(run(join(folder, 'dist/page.mjs'))).toEqual({ status: 0, stdout: 'true', stderr: '' });
  });
});

describe('wattn/inline', () => {
  afterEach(() => {
    inlineEnv.wasm = {};
  });

  const vectors = async (load: typeof pipeline, options = {}) => {
    const embed = await load('feature-extraction', tiny, options);
    const { data } = await embed(texts);
    const { wasm, threads, workers } = embed.info();
    await embed.dispose();
    return { data, wasm, threads, workers };
  };

  it('gives the same bits, here, in threads and in a worker', async () => {
    const { data } = await vectors(pipeline);
    expect(await vectors(inlinePipeline, { threads: 1 })).toMatchObject({ data, wasm: 'simd', threads: 1 });
    expect(await vectors(inlinePipeline, { threads: 2 })).toMatchObject({ data, threads: 2 });
    expect(await vectors(inlinePipeline, { worker: true })).toMatchObject({ data, workers: 1 });
    await nn.ready();
    expect(String(nn.summary(new nn.Linear(2, 3), [1, 2]))).toMatch(/Linear/);
  });

  it('takes other WebAssembly all the same, and refuses that of another build', async () => {
    const simd = new Uint8Array(readFileSync(join(root, 'dist/wattn-simd.wasm')));
    inlineEnv.wasm = { binary: simd };
    expect((await vectors(inlinePipeline)).wasm).toBe('given');
    const id = /BUILD_ID "(\w+)"/.exec(readFileSync(join(root, 'build/wasm-simd/build_id.h'), 'utf8'))?.[1] as string;
    simd.set(new TextEncoder().encode('0123456789abcdef'), Buffer.from(simd).indexOf(id));
    inlineEnv.wasm = { binary: simd.slice() };
    await expectError(vectors(inlinePipeline), 'StateError', /is from build 0123456789abcdef/);
  });

  it('trains a tokenizer with the bytes of the file that is not inside', async () => {
    const train = (wasm?: { binary: Uint8Array }) =>
      InlineTokenizer.train(['a b c'], { model: 'bpe', vocab_size: 30, ...(wasm && { wasm }) });
    await expectError(
      train(),
      'UnsupportedError',
      /wattn-tokenizer\.wasm is not included; use the entry wattn\/inline-train or wattn, or pass its bytes or URL/,
    );
    const tokenizer = await train({ binary: new Uint8Array(readFileSync(join(root, 'dist/wattn-tokenizer.wasm'))) });
    expect(tokenizer.encode('a b').length).toBeGreaterThan(0);
  });

  it('searches', async () => {
    const embed = async (all: string[]) => all.map((text) => [text.length, 1, 2]);
    const find = async (index: InlineIndex) => {
      await index.add([
        { id: 'a', text: 'the river' },
        { id: 'b', text: 'a cold and silver morning' },
      ]);
      return index.search('a river', { top_k: 5 });
    };
    const hits = await find(await InlineIndex.open('notes', { embed, store: 'memory', precision: 'binary' }));
    expect(hits).toEqual(await find(await Index.open('notes', { embed, store: 'memory', precision: 'binary' })));
    expect(hits[0]).toMatchObject({ id: 'a' });
  });

  it('needs no file beside its three, in workers and threads neither', () => {
    const folder = mkdtempSync(join(tmpdir(), 'wattn-inline-'));
    for (const file of ['inline_node.js', 'inline_files.js', 'inline_files_node.js'])
      copyFileSync(join(root, 'dist', file), join(folder, file));
    const script = `
      import { Index, pipeline } from './inline_node.js';
      const embed = await pipeline('feature-extraction', ${JSON.stringify(tiny)}, { threads: 1 });
      const index = await Index.open('notes', { embed, store: 'memory' });
      await index.add([{ id: 'a', text: 'the river' }, { id: 'b', text: 'a cold morning' }]);
      const [hit] = await index.search('the river', { mode: 'meaning' });
      const helped = await pipeline('feature-extraction', ${JSON.stringify(tiny)}, { threads: 2 });
      const beside = await pipeline('feature-extraction', ${JSON.stringify(tiny)}, { worker: true });
      await helped.ready;
      const all = await Promise.all([embed, helped, beside].map((each) => each('the river')));
      const same = new Set(all.map(({ data }) => String(data))).size === 1;
      process.stdout.write((await embed(['the river'])).dims + ' ' + hit.id + ' ' + hit.score.toFixed(1) + ' ' + helped.info().threads + ' ' + same);
      await Promise.all([helped.dispose(), beside.dispose()]);`;
    expect(node(folder, script)).toEqual({ status: 0, stdout: '1,32 a 1.0 2 true', stderr: '' });
    rmSync(folder, { recursive: true });
  });

  it('trains models and tokenizers and runs rarer models with the files of wattn/inline-train, with the same bits', () => {
    const folder = mkdtempSync(join(tmpdir(), 'wattn-inline-'));
    const own = [
      'inline_train_node.js',
      'inline_files.js',
      'inline_files_node.js',
      'inline_train_files.js',
      'inline_train_files_node.js',
    ];
    for (const file of own) copyFileSync(join(root, 'dist', file), join(folder, file));
    const rare = join(goldens, 'variants/decoders/lfm2');
    const script = (entry: string, training: string) => `
      import { AutoTokenizer, nn, pipeline } from ${JSON.stringify(entry)};
      import { Trainer } from ${JSON.stringify(training)};
      const tokenizer = await AutoTokenizer.train(['a b c', 'a b'], { model: 'bpe', vocab_size: 12 });
      const rows = [{ anchor: 'the river', positive: 'a river' }, { anchor: 'a cold morning', positive: 'the morning' }];
      const farther = ({ embeddings: [a, b] }) => nn.functional.mse_loss(a, b);
      const vectors = [];
      for (const options of [{}, { worker: true }, { loss: farther }]) {
        const settings = { task: 'feature-extraction', method: 'full', epochs: 1, ...options };
        const trainer = await Trainer.from_pretrained(${JSON.stringify(tiny)}, settings);
        await trainer.fit(rows);
        vectors.push((await trainer.predict('the river')).tolist());
        await trainer.dispose();
      }
      const next = [];
      for (const worker of [false, true]) {
        const generate = await pipeline('text-generation', ${JSON.stringify(rare)}, { dtype: 'f32', worker });
        next.push(await generate('the river', { max_new_tokens: 4 }));
        await generate.dispose();
      }
      process.stdout.write(JSON.stringify([tokenizer.encode('a b'), vectors, next]));`;
    const { stdout, ...rest } = node(folder, script('./inline_train_node.js', './inline_train_node.js'));
    expect(rest).toEqual({ status: 0, stderr: '' });
    expect(stdout).toBe(node(root, script('wattn', 'wattn/train')).stdout);
    const [, [here, beside, ownLoss]] = JSON.parse(stdout);
    expect(beside).toEqual(here);
    expect(ownLoss).not.toEqual(here);
    rmSync(folder, { recursive: true });
  });
});
