import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { packModel, pipeline } from 'wattn';
import { cli, linesOf, wattn } from './cli_support.js';
import { root, serveHub, tiny, tinyFiles } from './support.js';

describe('wattn embed', () => {
  it('writes the vectors of texts, the very numbers of the library', async () => {
    const embed = await pipeline('feature-extraction', tiny);
    const texts = ['the', 'A small boat waits below the old bridge.'];
    const out = await embed(texts);
    const lines = linesOf(await wattn(['embed', '--model', tiny, ...texts]));
    expect(lines.map((line) => Object.keys(line))).toEqual([['text', 'embedding'], ['text', 'embedding']]); // prettier-ignore
    expect(lines.map((line) => line.text)).toEqual(texts);
    lines.forEach((line, i) => expect(Float32Array.from(line.embedding)).toEqual(out.get(i).data));

    const tokens = linesOf(await wattn(['embed', '--model', tiny, '--pooling', 'none', ...texts]));
    expect(tokens.map((line) => line.embedding.length)).toEqual([3, 14]);
    const raw = await embed(texts, { pooling: ['cls', 'max'], normalize: false, prompt_name: 'query', max_length: 6 });
    const options = ['--pooling', 'cls,max', '--no-normalize', '--prompt-name', 'query', '--max-length', '6'];
    const cut = linesOf(await wattn(['embed', '--model', tiny, ...options, ...texts]));
    cut.forEach((line, i) => expect(Float32Array.from(line.embedding)).toEqual(raw.get(i).data));
    expect(cut.map((line) => [line.truncated, line.tokens])).toEqual(
      raw.truncated.map((is, i) => (is ? [true, raw.tokens[i]] : [undefined, undefined])),
    );
    await embed.dispose();
  });

  it('reads lines of text and of JSON, carrying other members over', async () => {
    const input = 'the\n{"id": 7, "text": "caf\u00e9 \\ud800"}\r\n"quoted"\n"Hello," he said.\n\n {"text":"x","embedding":0}\nlast';
    const lines = linesOf(await wattn(['embed', '--model', tiny], input));
    expect(lines.map((line) => line.text)).toEqual(['the', 'caf\u00e9 \ud800', 'quoted', '"Hello," he said.', '', 'x', 'last']);
    expect(lines[1].id).toBe(7);
    expect(lines.every((line) => line.embedding.length === 32)).toBe(true);
    const plain = linesOf(await wattn(['embed', '--model', tiny, '--input', 'text'], '{"text": "a"}\n"b"\n'));
    expect(plain.map((line) => line.text)).toEqual(['{"text": "a"}', '"b"']);
    expect((await wattn(['embed', '--model', tiny], '')).out).toBe('');
  });

  it('reads files', async () => {
    const place = mkdtempSync(join(tmpdir(), 'wattn-cli-'));
    writeFileSync(join(place, 'a.txt'), 'one\ntwo\n');
    writeFileSync(join(place, 'b.txt'), `${'long '.repeat(50_000)}\nthree`);
    const args = ['embed', '--model', tiny, '--file', join(place, 'a.txt'), '--file', join(place, 'b.txt'), '--file', '-'];
    const lines = linesOf(await wattn(args, 'four'));
    expect(lines.map((line) => line.text.slice(0, 5))).toEqual(['one', 'two', 'long ', 'three', 'four']);
    expect(lines.map((line) => line.truncated)).toEqual([undefined, undefined, true, undefined, undefined]);
    rmSync(place, { recursive: true });
  });

  it('answers each line as it comes', async () => {
    const child = spawn(process.execPath, [cli, 'embed', '--model', tiny]);
    child.stdout.setEncoding('utf8');
    for (const text of ['one', 'two', 'three']) {
      child.stdin.write(`${text}\n`);
      const [line] = await once(child.stdout, 'data');
      expect(JSON.parse(line).text).toBe(text);
    }
    child.stdin.end();
    expect(await once(child, 'close')).toEqual([0, null]);
  });

  it('stops without a word when its reader has read enough', async () => {
    const child = spawn(process.execPath, [cli, 'embed', '--model', tiny]);
    let error = '';
    child.stderr.on('data', (text) => (error += text));
    child.stdin.on('error', () => {});
    child.stdin.write('the old boat\n'.repeat(20_000));
    child.stdin.end();
    await once(child.stdout, 'data');
    child.stdout.destroy();
    expect(await once(child, 'close')).toEqual([0, null]);
    expect(error).toBe('');
  });

  it('shows progress when asked', async () => {
    const { error, code } = await wattn(['embed', '--model', tiny, '--progress', 'the']);
    expect(code).toBe(0);
    expect(error).toMatch(/model\.safetensors: 100% 0\.2 MB of 0\.2 MB, [\d.]+ MB\/s\n$/);
  });
});

describe('wattn tokenize', () => {
  it('writes ids, tokens and offsets', async () => {
    const [line] = linesOf(await wattn(['tokenize', '--model', tiny, 'A boat \ud83d\ude00 the']));
    expect(line).toEqual({
      text: 'A boat \ud83d\ude00 the',
      ids: [2, 96, 305, 1, 158, 3],
      tokens: ['[CLS]', 'a', 'boat', '[UNK]', 'the', '[SEP]'],
      unknown: 0.25,
      offsets: [[0, 0], [0, 1], [2, 6], [7, 9], [10, 13], [0, 0]], // prettier-ignore
    });
    const [points] = linesOf(
      await wattn(['tokenize', '--model', tiny, '--offsets', 'codepoint', '--no-special', 'A boat \ud83d\ude00 the']),
    );
    expect(points).toMatchObject({ ids: [96, 305, 1, 158], offsets: [[0, 1], [2, 6], [7, 8], [9, 12]] }); // prettier-ignore
    const [cut] = linesOf(await wattn(['tokenize', '--model', tiny, '--max-length', '4', 'the old boat']));
    expect(cut).toMatchObject({ tokens: ['[CLS]', 'the', 'old', '[SEP]'], truncated: true });
    const [literal] = linesOf(await wattn(['tokenize', '--model', tiny, '--split-special-tokens', '[SEP]']));
    expect(literal.ids.length).toBeGreaterThan(3);
  });
});

describe('wattn tokenize --train', () => {
  it('writes a tokenizer.json that tokenizes', async () => {
    const place = mkdtempSync(join(tmpdir(), 'wattn-train-'));
    const [corpus, out] = [join(place, 'corpus.txt'), join(place, 'tokenizer.json')];
    writeFileSync(corpus, 'the old boat\n{ no JSON\r\nthe boat\n');
    const said = await wattn(['tokenize', '--train', 'word', '--out', out, corpus]);
    expect(said).toEqual({ code: 0, out: '', error: '' });
    const { vocab } = JSON.parse(readFileSync(out, 'utf8')).model;
    expect(Object.keys(vocab)).toEqual(['<unk>', '<pad>', '<s>', '</s>', 'boat', 'the', 'JSON', 'no', 'old', '{']);
    const [line] = linesOf(await wattn(['tokenize', '--model', `${place}/`, 'the new boat']));
    expect(line).toMatchObject({ ids: [5, 0, 4], tokens: ['the', '<unk>', 'boat'] });

    const options = ['--vocab-size', '7', '--special-token', '[X]', '--options', '{"min_frequency": 2, "unk_token": "[U]"}'];
    expect((await wattn(['tokenize', '--train', 'word', '--out', out, ...options], 'a a a b b c')).code).toBe(0);
    expect(JSON.parse(readFileSync(out, 'utf8')).model.vocab).toEqual({ '[U]': 0, '[X]': 1, a: 2, b: 3 });
    rmSync(place, { recursive: true });
  });

  it('says what is wrong', async () => {
    const wrong: [string[], RegExp][] = [
      [['--train', 'word'], /^wattn: --out: expected the file to write, found none\n$/],
      [['--train', 'gpt', '--out', 'x'], /option 'model': expected one of .*, found 'gpt'\n$/],
      [['--train', 'word', '--out', '/no/such/x'], /^wattn: --out: cannot write \/no\/such\/x: ENOENT\n$/],
      [['--train', 'word', '--out', 'x', '--options', '[]'], /^wattn: --options: expected a JSON object, found \[\]\n$/],
      [['--train', 'word', '--out', 'x', '--model', tiny], /^wattn: --model: not allowed with --train\n$/],
      [['--train', 'word', '--out', 'x', '/no/such/file'], /cannot read \/no\/such\/file: ENOENT\n$/],
    ];
    for (const [args, message] of wrong) {
      const said = await wattn(['tokenize', ...args], 'a');
      expect(said.error).toMatch(message);
      expect(said.code).toBe(2);
    }
  });
});

describe('wattn inspect', () => {
  it('prints a table, or JSON', async () => {
    const { out, code } = await wattn(['inspect', '--model', tiny, '--seq', '16']);
    expect(code).toBe(0);
    expect(out).toMatch(/^encoder\.layer\.1\.intermediate\.dense +Linear +\[16, 64\] +\[64, 32\] +2,112 +32,768$/m);
    expect(out).toMatch(/^total +36,704 /m);
    expect(out).toMatch(/weights in the file +F32 146,816 bytes/);
    expect(out).toMatch(/peak memory +/);
    const [json] = linesOf(await wattn(['inspect', '--model', tiny, '--json']));
    expect(json).toMatchObject({
      model_type: 'bert',
      seq: 48,
      parameters: 36704,
      bytes: { stored: { F32: 146816 } },
      files: { 'model.safetensors': 150824 },
    });
    expect(json.layers.length).toBe(23);
    expect(json.memory.total).toBe(json.memory.weights + json.memory.activations);
  });

  it('takes a GGUF file, as the model in the package is', async () => {
    const [json] = linesOf(await wattn(['inspect', '--json']));
    const size = statSync(join(root, 'models/default/wattn-default.gguf')).size;
    expect(json).toMatchObject({ parameters: 6661504, bytes: { stored: { GGUF: size } }, files: { 'wattn-default.gguf': size } });
  });
});

describe('wattn pack', () => {
  const folder = mkdtempSync(join(tmpdir(), 'wattn-pack-'));
  const file = (name: string, content: string) => {
    writeFileSync(join(folder, name), content);
    return join(folder, name);
  };
  afterAll(() => rmSync(folder, { recursive: true }));

  it('rounds by the texts of --calibrate', async () => {
    const out = join(folder, 'rounded.gguf');
    const lines = file('texts.txt', 'the old bridge\r\n\nover the river and its bank\n');
    await wattn(['pack', '--model', tiny, '--dtype', 'q4', '--calibrate', lines, '--out', out]);
    const calibrate = ['the old bridge', 'over the river and its bank'];
    expect(Buffer.compare(readFileSync(out), await packModel(tiny, { dtype: 'q4', calibrate }))).toBe(0);
  });

  it('cuts, writes and says what it costs', async () => {
    const out = join(folder, 'small.gguf');
    const corpus = file('corpus.txt', 'the old bridge\n\nover the river\r\n');
    const pairs = file(
      'pairs.tsv',
      'sentence1\tsentence2\tscore\nthe old bridge\tthe bridge\t4.5\na boat\tthe river\t1\nthe old\tover\t2\n',
    );
    const args = ['pack', '--model', tiny, '--dtype', 'q8', '--layers', '0', '--dim', '16', '--out', out];
    const [said] = linesOf(await wattn([...args, '--vocab', '300', '--corpus', corpus, '--check', pairs]));
    const bytes = readFileSync(out);
    expect(said).toMatchObject({
      ...{ file: out, bytes: bytes.length, vocab: 300, layers: 1, dim: 16, kept_tokens: 1 },
      sha256: createHash('sha256').update(bytes).digest('hex'),
      check: { pairs: 3, cosine: { mean: expect.any(Number), worst: expect.any(Number) } },
    });
    expect(said.check.spearman).toEqual({ original: expect.any(Number), packed: expect.any(Number) });
    const [{ embedding }] = linesOf(await wattn(['embed', '--model', out, 'the old bridge']));
    expect(embedding).toHaveLength(16);
    // STS Benchmark's own columns.
    const sts = file(
      'sts.csv',
      'main-news\tMSRpar\t2012\t0001\t3.5\tthe "old" bridge\tthe bridge\'s\textra\nx\ty\tz\t2\t1\ta boat\tthe river\n',
    );
    const [other] = linesOf(await wattn(['pack', '--model', tiny, '--out', join(folder, 'no_ending'), '--check', sts]));
    expect(other.check.pairs).toBe(2);
  });

  it('leaves no file behind an error', async () => {
    const out = join(folder, 'bad.gguf');
    const cases: [string[], RegExp][] = [
      [['--vocab', '300'], /'vocab': expected texts in option 'corpus'/],
      [['--vocab', '300', '--corpus', join(folder, 'none.txt')], /--corpus: cannot read .*none.txt: ENOENT/],
      [['--vocab', '300', '--corpus', file('empty.txt', '\n')], /'corpus': expected texts, found 'none'/],
      [['--dtype', 'q4', '--calibrate', join(folder, 'none.txt')], /--calibrate: cannot read .*none.txt: ENOENT/],
      [['--dtype', 'q4', '--calibrate', file('empty.txt', '\n')], /'calibrate': expected texts, found none/],
      [['--layers', '0,x'], /--layers: expected numbers separated by commas, found 'x'/],
      [['--layers', '7'], /'layers': expected rising numbers from 0 to 1, found 7/],
      [['--dim', '64'], /'dim': expected at most the vector's 32 components, found 64/],
      [['--dtype', 'q5'], /--dtype: expected f32 or f16 or q8 or q4 or mixed or native, found 'q5'/],
      [
        ['--check', file('bad.tsv', 'a\tb\tc\nd\te\tf\n')],
        /bad.tsv, line 2: expected two sentences and a score, separated by tabs/,
      ],
    ];
    for (const [more, message] of cases) {
      const said = await wattn(['pack', '--model', tiny, '--out', out, ...more]);
      expect([said.code, said.error]).toEqual([2, expect.stringMatching(message)]);
    }
    expect(readdirSync(folder).filter((name) => name.startsWith('bad.gguf'))).toEqual([]);
  });
});

describe('wattn', () => {
  it('has help and a version', async () => {
    for (const args of [[], ['--help'], ['embed', '--help'], ['tokenize', '-h'], ['inspect', '--help']]) {
      const said = await wattn(args);
      expect(said).toMatchObject({ code: 0, error: '', out: expect.stringMatching(/^Usage: wattn/) });
    }
    const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
    expect((await wattn(['--version'])).out).toBe(`${version}\n`);
  });

  it('ends with 2 and one clear line on bad input', async () => {
    const cases: [string[], string | undefined, RegExp][] = [
      [
        ['nope'],
        undefined,
        /unknown command 'nope'; commands: embed, classify, rank, run, redact, generate, chat, tokenize, index, search, inspect/,
      ],
      [['generate', '--model', tiny], 'x\n', /model_type: expected a decoder, which this task needs, found "bert"/],
      [['generate', 'x'], undefined, /expected --model/],
      [['pack'], undefined, /--out: expected the file to write, found none/],
      [
        ['embed', '--modell', tiny],
        undefined,
        /wattn embed: unknown option '--modell'; did you mean '--model'\? known options: --model/,
      ],
      [['embed', '--model'], undefined, /--model/],
      [['embed', '--model', './nowhere', 'the'], undefined, /expected a directory at .*nowhere, found nothing/],
      [['embed', '--model', tiny, '--dtype', 'q3', 'the'], undefined, /'q4', found 'q3'/],
      [['embed', '--model', tiny, '--precision', 'sloppy', 'the'], undefined, /'precision': expected one of/],
      [['embed', '--model', tiny, '--pooling', 'avg', 'the'], undefined, /found 'avg'/],
      [['embed', '--model', tiny, '--max-length', 'x', 'the'], undefined, /--max-length: expected a whole number/],
      [['embed', '--model', tiny, '--normalize', '--no-normalize', 'the'], undefined, /found both/],
      [
        ['embed', '--model', tiny, '--max-length', '4', '--on-overflow', 'error', 'the old small boat'],
        undefined,
        /expected at most 4/,
      ],
      [['embed', '--model', tiny, '--file', '/nowhere'], undefined, /--file: cannot read \/nowhere: ENOENT/],
      [['embed', '--model', tiny, '--file', 'x', 'the'], undefined, /expected texts or --file, found both/],
      [['embed', '--model', tiny], 'the\n{"txt": 1}\n', /standard input, line 2: expected a JSON object with a string "text"/],
      [['embed', '--model', tiny], '{"text": "cut', /standard input, line 1: expected JSON/],
      [['embed', '--model', tiny, '--input', 'json'], 'the\n', /line 1: expected JSON/],
      [
        ['embed', '--model', tiny],
        `{"text":"a","x":${'['.repeat(100_000)}${']'.repeat(100_000)}}\n`,
        /line 1: expected JSON, found too deep/,
      ],
      [
        ['run', '--task', 'fill-mask', '--model', tiny, '--options', `{"x":${'['.repeat(20_000)}${']'.repeat(20_000)}}`, 'a'],
        undefined,
        /--options: expected a JSON object/,
      ],
      [['embed', '--model', tiny, '--input', 'xml'], 'the\n', /--input: expected auto or text or json, found 'xml'/],
      [['tokenize', '--model', tiny, '--offsets', 'bytes', 'the'], undefined, /--offsets: expected utf16 or codepoint/],
      [['inspect', '--model', tiny, 'text'], undefined, /expected options only, found 'text'/],
      [['inspect', '--model', tiny, '--seq', '0'], undefined, /--seq: expected a whole number from 1 on/],
    ];
    for (const [args, input, message] of cases) {
      const { code, error } = await wattn(args, input);
      expect(`${args.join(' ')}: ${error}`).toMatch(message);
      expect(error).toMatch(/^wattn: [^\n]+\n$/);
      expect(code).toBe(2);
    }
  });

  it('takes a hub id neither for a folder nor a folder for a hub id', async () => {
    const place = mkdtempSync(join(tmpdir(), 'wattn-cli-'));
    mkdirSync(join(place, 'org'));
    symlinkSync(tiny, join(place, 'org/tiny'));
    const { code, error } = await wattn(['tokenize', '--model', 'org/tiny', 'the'], undefined, place);
    expect([code, error]).toEqual([2, expect.stringMatching(/could be a Hub id or a local folder: write \.\/org\/tiny/)]);
    expect((await wattn(['tokenize', '--model', './org/tiny', 'the'], undefined, place)).code).toBe(0);
    rmSync(place, { recursive: true });
  });
});

describe('wattn download, wattn cache', () => {
  it('put a model into the cache, list it and delete it', async () => {
    const hub = await serveHub(tinyFiles(), '/org/tiny/resolve/main/');
    const place = mkdtempSync(join(tmpdir(), 'wattn-cli-cache-'));
    const run = (...args: string[]) => wattn([...args, '--cache-dir', place], undefined, root, { HF_ENDPOINT: hub.url });
    try {
      const [got] = linesOf(await run('download', 'org/tiny'));
      expect(got.model).toBe('org/tiny');
      expect(got.bytes).toBeGreaterThan((tinyFiles().get('model.safetensors') as Uint8Array).length);
      const sums = { ...got, complete: true };
      expect(linesOf(await run('cache'))).toEqual([sums]);
      expect(linesOf(await run('cache', 'list', 'org/tiny'))).toEqual([sums]);
      expect(linesOf(await run('cache', 'org/tiny'))).toEqual([sums]);
      await hub.close();
      expect(linesOf(await run('embed', '--model', 'org/tiny', '--local-files-only', 'one'))).toHaveLength(1);
      expect(linesOf(await run('cache', 'delete', 'org/tiny'))).toEqual([{ deleted: got.files }]);
      expect((await run('cache')).out).toBe('');
      expect(linesOf(await run('cache', 'clear'))).toEqual([{ deleted: 0 }]);
    } finally {
      await hub.close().catch(() => {});
      rmSync(place, { recursive: true, force: true });
    }
  });

  it('end with one line and status 2 on what is wrong', async () => {
    const wrong: [string[], RegExp][] = [
      [['download'], /expected a model to download/],
      [['download', './folder'], /expected a Hub id .*found '.\/folder'/],
      [['cache', 'purge'], /expected list, delete or clear, found 'purge'/],
      [['cache', 'delete'], /expected the model to delete/],
      [['cache', 'clear', 'org/tiny'], /clear: expected no model/],
      [['cache', 'list', 'a/b', 'c/d'], /expected one model/],
      [['help', 'purge'], /unknown command 'purge'/],
    ];
    for (const [args, message] of wrong) {
      const { code, error, out } = await wattn(args);
      expect([args, code, out, error.trimEnd().split('\n').length]).toEqual([args, 2, '', 1]);
      expect(error).toMatch(message);
    }
  });

  it('have help, as every command has by both ways', async () => {
    const { out, code } = await wattn(['help', 'cache']);
    expect([code, out]).toEqual([0, (await wattn(['cache', '--help'])).out]);
    expect(out).toMatch(/^Usage: wattn cache/);
    expect((await wattn(['help'])).out).toBe((await wattn(['--help'])).out);
  });
});
