// Smaller packed models: fewer pieces, layers and components, the loss, and the memory.
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { AutoModel, AutoTokenizer, comparePacked, packModel, packTo, pipeline, type PackOptions } from 'wattn';
import { changed, floats, readTensors, writeTensors } from './safetensors.js';
import { expectError, failure, filesOf, goldens, largestDifference, root, tiny, tinyFiles, type Files } from './support.js';

const named = (bytes: Uint8Array) => ({ 'model.gguf': bytes });
const json = (value: unknown) => new TextEncoder().encode(JSON.stringify(value));
const shared = join(root, '../shared/data');

async function vectors(model: Parameters<typeof pipeline>[1], texts: string[]) {
  const embed = await pipeline('feature-extraction', model);
  const out = await embed(texts);
  await embed.dispose();
  return { dims: out.dims, data: [...out.data] };
}

/** A model of these pieces: the mean of a row for each, unlike all others. */
function rowsOf(tokenizer: Record<string, any>, width = 32): Files {
  const { vocab } = tokenizer['model'];
  const ids = Array.isArray(vocab) ? vocab.map((_, id) => id) : (Object.values(vocab) as number[]);
  const added = (tokenizer['added_tokens'] ?? []).map(({ id }: { id: number }) => id);
  const rows = [...ids, ...added].reduce((most, id) => Math.max(most, id), 0) + 1;
  return new Map([
    ['modules.json', json([{ idx: 0, name: '0', path: '', type: 'sentence_transformers.models.StaticEmbedding' }])],
    ['tokenizer.json', json(tokenizer)],
    ['model.safetensors', writeTensors(new Map([['embedding.weight', floats([rows, width], (i) => Math.sin(i * i + 1))]]))],
  ]);
}

const kTexts = [
  'the old bridge over the river',
  'a boat, a bank and the bridge',
  'over and over the old boat ran',
  'rivers run; boats are banked',
];

/** A tokenizer of each kind, and how many of its pieces go. */
const kTrained = {
  wordpiece: { train: () => AutoTokenizer.train(kTexts, { model: 'wordpiece', vocab_size: 90 }), less: 12 },
  bpe: { train: () => AutoTokenizer.train(kTexts, { model: 'bpe', vocab_size: 310 }), less: 4 },
  unigram: { train: () => AutoTokenizer.train(kTexts, { model: 'unigram', vocab_size: 60 }), less: 1 },
  word: { train: () => AutoTokenizer.train(kTexts, { model: 'word' }), less: 3 },
};

const kReal = ['all-MiniLM-L6-v2', 'roberta-base', 't5-small', 'phi-2', 'llama2-repaired'];
const odd = [
  'The bridge of sighs, Müller & Søn: 東京 café №7',
  'naïve\u00a0coöperation\t🙂🙂 <s> [SEP] </s>',
  'zzzz qqqq',
  '\u0000\ud800x',
  '',
];

describe('a smaller vocabulary', () => {
  it.each(Object.keys(kTrained) as (keyof typeof kTrained)[])('is cut from a trained tokenizer: %s', async (kind) => {
    const trained = (await kTrained[kind].train()).toJSON();
    const files = rowsOf(trained);
    const whole = await AutoTokenizer.from_pretrained(files);
    const size = whole.vocab_size - kTrained[kind].less;
    const packed = named(await packModel(files, { dtype: 'f32', vocab: size, corpus: kTexts.slice(0, 2) }));
    const cut = await AutoTokenizer.from_pretrained(packed);
    expect(cut.vocab_size).toBe(size);
    // What the corpus says is in the same pieces, and rows went with them.
    for (const text of kTexts.slice(0, 2)) expect(cut.tokenize(text)).toEqual(whole.tokenize(text));
    expect(await vectors(packed, kTexts.slice(0, 2))).toEqual(await vectors(files, kTexts.slice(0, 2)));
  });

  const missing = kReal.filter((name) => !existsSync(join(shared, 'tokenizers', name, 'tokenizer.json')));
  const run = missing.length === 0 ? it : it.skip;
  run.each(missing.length === 0 ? kReal : [`${missing} (not in ../shared/data/tokenizers)`])('of %s', async (name) => {
    const source = JSON.parse(readFileSync(join(shared, 'tokenizers', name, 'tokenizer.json'), 'utf8'));
    const files = rowsOf(source);
    const corpus = ['The committee decided that the bridge must be closed.', 'International banking, unbelievable as it is.'];
    const size = name === 'all-MiniLM-L6-v2' ? 4000 : name === 'llama2-repaired' ? 8000 : 3000;
    const packed = named(await packModel(files, { dtype: 'f32', vocab: size, corpus }));
    const [whole, cut] = [await AutoTokenizer.from_pretrained(files), await AutoTokenizer.from_pretrained(packed)];
    expect(cut.vocab_size).toBe(size);
    expect(await vectors(packed, corpus)).toEqual(await vectors(files, corpus));
    for (const text of [...corpus, ...odd]) {
      const [pieces, before] = [cut.tokenize(text), whole.tokenize(text)];
      // Where the whole vocabulary finds no unknown piece, the cut one finds none.
      const unknown = (tokens: string[]) => tokens.filter((token) => token === '[UNK]' || token === '<unk>').length;
      expect(unknown(pieces)).toBe(unknown(before));
      expect(pieces.map((piece) => piece.replace(/^##/, '')).join('')).toBe(
        before.map((piece) => piece.replace(/^##/, '')).join(''),
      );
    }
  });

  it('keeps special tokens, single characters and the ids that files name', async () => {
    const { vocab } = JSON.parse(readFileSync(join(tiny, 'tokenizer.json'), 'utf8')).model;
    const single = Object.keys(vocab).filter((piece) => [...piece.replace(/^##(?=.)/, '')].length === 1);
    const packed = named(await packModel(tiny, { dtype: 'f32', vocab: 300, corpus: ['the old bridge'] }));
    const [whole, cut] = [await AutoTokenizer.from_pretrained(tiny), await AutoTokenizer.from_pretrained(packed)];
    const [before, after] = [whole, cut].map(
      (tokenizer) => new Set(tokenizer.convert_ids_to_tokens([...Array(tokenizer.vocab_size).keys()])),
    );
    for (const piece of [...single, '[PAD]', '[UNK]', '[CLS]', '[SEP]', '[MASK]', 'the', 'old']) {
      if (before?.has(piece)) expect([piece, after?.has(piece)]).toEqual([piece, true]);
    }
    const model = await AutoModel.from_pretrained(packed);
    expect(model.config).toMatchObject({ vocab_size: 300, pad_token_id: 0 });
    await model.dispose();
    const texts = ['the old bridge', 'the bridge', ''];
    expect(await vectors(packed, texts)).toEqual(await vectors(tiny, texts));
  });

  it('cuts heads over the vocabulary, tied or not', async () => {
    const folder = join(goldens, 'decoders/llama');
    const files = filesOf(folder);
    const corpus = ['the cat sat on the mat'];
    const tokenizer = await AutoTokenizer.from_pretrained(files);
    const config = JSON.parse(new TextDecoder().decode(files.get('config.json')));
    const rows = readTensors(files.get('model.safetensors') as Uint8Array).get('model.embed_tokens.weight')?.shape[0];
    expect([config.vocab_size, tokenizer.vocab_size <= (rows as number)]).toEqual([rows, true]);
    const size = tokenizer.vocab_size - 1;
    const untied = { ...config, tie_word_embeddings: false };
    const weights = changed(files.get('model.safetensors') as Uint8Array, (tensors) => {
      const table = tensors.get('model.embed_tokens.weight');
      if (table && !tensors.has('lm_head.weight')) tensors.set('lm_head.weight', { ...table });
    });
    files.set('config.json', json(untied)).set('model.safetensors', weights);
    const error = await failure(packModel(files, { dtype: 'f32', vocab: size, corpus }));
    // Its tokenizer is one of characters, all of which stay.
    expect(String(error)).toMatch(
      /^InputError: pack: option 'vocab': expected at least \d+ \(special tokens, single characters and bytes stay\)/,
    );
  });

  it('refuses what it cannot cut', async () => {
    const corpus = ['the old bridge'];
    const cases: [PackOptions, RegExp][] = [
      [{ vocab: 10, corpus }, /'vocab': expected at least \d+ \(special tokens.*found 10/],
      [{ vocab: 512, corpus }, /'vocab': expected fewer than the model's 512 pieces, found 512/],
      [{ vocab: 300 }, /'vocab': expected texts in option 'corpus'/],
      [{ corpus }, /'corpus' has no effect without option 'vocab'/],
      [{ vocab: 300, corpus: [] }, /'corpus': expected texts, found 'none'/],
      [{ vocab: 300, corpus: ['', '   '] }, /'corpus': expected texts, found 'texts without tokens'/],
      [{ vocab: 300, corpus: [7] as never }, /'corpus': expected a string as text 0, found 7/],
      [{ vocab: 300, corpus: 7 as never }, /'corpus': expected texts, found 7/],
      [{ vocab: 1.5, corpus }, /'vocab'/],
      [{ layers: [] }, /'layers': expected rising numbers from 0 to 1, found none/],
      [{ layers: [2] }, /'layers': expected rising numbers from 0 to 1, found 2/],
      [{ layers: [1, 0] }, /'layers': expected rising numbers from 0 to 1, found 0/],
      [{ layers: '0' as never }, /'layers': expected an array of numbers, found '0'/],
      [{ dim: 33 }, /'dim': expected at most the vector's 32 components, found 33/],
      [{ dtype: 'q5' as never }, /'dtype': expected one of/],
    ];
    for (const [options, message] of cases) await expectError(packModel(tiny, options), 'InputError', message);
    const vocabulary = tinyFiles({ 'tokenizer.json': null, 'spiece.model': 'x' });
    await expectError(
      packModel(vocabulary, { vocab: 300, corpus }),
      'UnsupportedError',
      /expected a model with a tokenizer.json, found spiece.model/,
    );
    const bare = tinyFiles({ 'modules.json': null });
    await expectError(packModel(bare, { dim: 8 }), 'UnsupportedError', /'dim': expected a model with a pooling/);
    await expectError(
      packModel(join(goldens, 'seq2seq/t5'), { layers: [0] }),
      'UnsupportedError',
      /expected a model with one stack/,
    );
    await expectError(
      packModel(join(goldens, 'static/sentence'), { layers: [0] }),
      'UnsupportedError',
      /expected a model with one stack/,
    );
  });

  it('takes any corpus: long lines, odd characters, async', async () => {
    const corpus = async function* () {
      yield 'x'.repeat(1 << 20);
      yield '\ud800\u0000 \ufffd the old bridge [SEP] '.repeat(20_000);
    };
    const packed = named(await packModel(tiny, { dtype: 'f32', vocab: 300, corpus: corpus() }));
    expect(await vectors(packed, ['the old bridge'])).toEqual(await vectors(tiny, ['the old bridge']));
  });
});

describe('fewer layers and components', () => {
  it('keeps the layers that are named', async () => {
    const files = tinyFiles();
    const weights = changed(files.get('model.safetensors') as Uint8Array, (tensors) => {
      for (const name of [...tensors.keys()]) if (name.startsWith('encoder.layer.0.')) tensors.delete(name);
      for (const [name, entry] of [...tensors]) {
        if (!name.startsWith('encoder.layer.1.')) continue;
        tensors.delete(name);
        tensors.set(name.replace('.1.', '.0.'), entry);
      }
    });
    const config = { ...JSON.parse(new TextDecoder().decode(files.get('config.json'))), num_hidden_layers: 1 };
    files.set('config.json', json(config)).set('model.safetensors', weights);
    expect(await vectors(named(await packModel(tiny, { dtype: 'f32', layers: [1] })), kTexts)).toEqual(
      await vectors(files, kTexts),
    );
  });

  it('keeps what kind each layer is, and refuses a first layer unlike the others', async () => {
    const modern = filesOf(join(goldens, 'architectures/modernbert'));
    modern.delete('model.gguf');
    modern.set('tokenizer.json', filesOf(tiny).get('tokenizer.json') as Uint8Array);
    const { num_hidden_layers: layers, ...config } = JSON.parse(new TextDecoder().decode(modern.get('config.json')));
    expect(layers).toBeGreaterThan(2);
    await expectError(
      packModel(modern, { layers: [1, 2] }),
      'UnsupportedError',
      /layer 1 cannot be layer 0, because its tensors differ; keep layer 0/,
    );
    const kept = [0, layers - 1];
    const model = await AutoModel.from_pretrained(named(await packModel(modern, { dtype: 'f32', layers: kept })));
    const { layer_types: before, global_attn_every_n_layers: every } = config;
    const types = kept.map((layer) => before?.[layer] ?? (layer % (every ?? 3) === 0 ? 'full_attention' : 'sliding_attention'));
    expect(model.config).toMatchObject({ num_hidden_layers: 2, layer_types: types });
    await model.dispose();
  });

  it('embeds in fewer components by itself, at unit length', async () => {
    const packed = named(await packModel(tiny, { dtype: 'f32', dim: 8 }));
    const [whole, cut] = [await vectors(tiny, kTexts), await vectors(packed, kTexts)];
    expect(cut.dims).toEqual([kTexts.length, 8]);
    kTexts.forEach((_, i) => {
      const first = whole.data.slice(32 * i, 32 * i + 8);
      const length = Math.hypot(...first);
      expect(
        largestDifference(
          cut.data.slice(8 * i, 8 * i + 8),
          first.map((x) => x / length),
        ),
      ).toBeLessThan(1e-6);
    });
    const embed = await pipeline('feature-extraction', packed);
    expect((await embed(kTexts, { truncate_dim: 4 })).dims).toEqual([kTexts.length, 4]);
    expect((await embed(kTexts, { pooling: 'none' })).dims[2]).toBe(32);
    await expectError(embed(kTexts, { truncate_dim: 9 }), 'InputError', /truncate_dim: expected a whole number from 1 to 8/);
    await embed.dispose();
  });
});

describe('packTo', () => {
  it('passes the file on while it reads, and holds little', async () => {
    const name = 'encoder.layer.0.intermediate.dense.weight';
    const files = tinyFiles();
    const big = floats([1 << 12, 1 << 10], () => 1); // 16 MB
    const weights = changed(files.get('model.safetensors') as Uint8Array, (tensors) => void tensors.set(name, big));
    let [read, written, most] = [0, 0, 0];
    const stream = () => {
      let at = 0;
      return new ReadableStream<Uint8Array>({
        pull(controller) {
          if (at === weights.length) return controller.close();
          const chunk = weights.slice(at, at + (1 << 16));
          [at, read] = [at + chunk.length, Math.max(read, at + chunk.length)];
          controller.enqueue(chunk);
        },
      });
    };
    files.set('model.safetensors', { size: weights.length, stream } as never);
    const report = await packTo(
      files,
      (chunk) => {
        written += chunk.length;
        most = Math.max(most, chunk.length, read - written);
      },
      { dtype: 'f32' },
    );
    expect(report).toMatchObject({ bytes: written, layers: 2 });
    expect(report.original_bytes).toBe(weights.length);
    expect(most).toBeLessThan(2 << 20);
  });

  it('says no more after an error of write', async () => {
    const error = new Error('full');
    expect(await failure(packTo(tiny, () => Promise.reject(error)))).toBe(error);
  });
});

describe('comparePacked', () => {
  const pairs = kTexts.flatMap((sentence1, i) => kTexts.slice(i).map((sentence2, j) => ({ sentence1, sentence2, score: 5 - j })));

  it('is 1 and the same correlation for the model itself', async () => {
    const cost = await comparePacked(tiny, named(await packModel(tiny, { dtype: 'f32' })), pairs);
    expect(cost.pairs).toBe(pairs.length);
    expect(cost.cosine.worst).toBeCloseTo(1, 12);
    expect(cost.spearman.packed).toBe(cost.spearman.original);
    expect(Math.abs(cost.spearman.original)).toBeGreaterThan(0.05);
  });

  it('finds what 4 bits and a cut vocabulary change', async () => {
    const q4 = await comparePacked(tiny, named(await packModel(tiny, { dtype: 'q4' })), pairs);
    expect(q4.cosine.worst).toBeLessThan(q4.cosine.mean);
    expect(q4.cosine.mean).toBeLessThan(1 - 1e-6);
    expect(q4.cosine.mean).toBeGreaterThan(0.9);
  });

  it('refuses what are no pairs', async () => {
    await expectError(comparePacked(tiny, tiny, []), 'InputError', /expected pairs of sentences with a score, found none/);
    await expectError(
      comparePacked(tiny, tiny, [{ sentence1: 'a' } as never]),
      'InputError',
      /expected sentence1, sentence2 and a score in pair 0/,
    );
  });
});
