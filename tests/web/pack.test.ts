// GGUF models: files from `packModel` load like the original, their blocks match gguf-py's, and llama.cpp's names are read.
import { cpSync, existsSync, mkdtempSync, readdirSync, readFileSync, readlinkSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { AutoModel, AutoTokenizer, distill, packModel, packTo, pipeline } from 'wattn';
import { floatToHalf, halfToFloat } from '../../web/core/half.js';
import { toBlocks } from '../../web/source/gguf_writer.js';
import { changed, floats, type Tensors } from './safetensors.js';
import { expectError, failure, filesOf, goldens, largestDifference, tiny, until } from './support.js';

const texts = ['the old bridge', 'a river, and its bank', ''];
const vectors = async (model: Parameters<typeof pipeline>[1], options = {}) => {
  const embed = await pipeline('feature-extraction', model, options);
  const out = await embed(texts, { max_length: 40 });
  await embed.dispose();
  return [...out.data];
};
const named = (bytes: Uint8Array) => ({ 'model.gguf': bytes });

describe('packModel', () => {
  it('keeps every bit as f32', async () => {
    expect(await vectors(named(await packModel(tiny, { dtype: 'f32' })))).toEqual(await vectors(tiny));
  });

  it('writes the blocks of gguf-py as q8', async () => {
    // With a tensor that llama.cpp lacks, all matrices are quantized; else the few that it adds to others are not.
    const weights = changed(readFileSync(join(tiny, 'model.safetensors')), (tensors) => {
      tensors.set(
        'cls.seq_relationship.weight',
        floats([2, 32], () => 1),
      );
    });
    const packed = await packModel(new Map([...filesOf(tiny), ['model.safetensors', weights]]), { dtype: 'q8' });
    expect(await vectors(named(packed))).toEqual(await vectors(join(goldens, 'gguf/q8_0.gguf')));
  });

  describe('as q4', () => {
    /** What blocks mean: a scale in f16 and 32 numbers of four bits, less 8. */
    const meantBy = (blocks: Uint8Array) => {
      const view = new DataView(blocks.buffer, blocks.byteOffset, blocks.length);
      return Array.from({ length: (blocks.length / 18) * 32 }, (_, i) => {
        const at = Math.floor(i / 32) * 18;
        const both = view.getUint8(at + 2 + (i % 16));
        return halfToFloat(view.getUint16(at, true)) * ((i % 32 < 16 ? both & 15 : both >> 4) - 8);
      });
    };
    /** The same of ggml's quantize_row_q4_0_ref: the number that is largest without its sign becomes -8. */
    const meantByGgml = (values: Float32Array) =>
      Array.from(values, (value, i) => {
        const block = [...values.subarray(i - (i % 32), i - (i % 32) + 32)];
        const scale = halfToFloat(
          floatToHalf(block.reduce((most, each) => (Math.abs(each) > Math.abs(most) ? each : most), 0) / -8),
        );
        return scale && scale * Math.min(15, Math.floor(value / scale + 8.5)) - 8 * scale;
      });
    const errorOf = (values: Float32Array, meant: number[]) =>
      meant.reduce((sum, each, i) => sum + (each - (values[i] as number)) ** 2, 0);
    let seed = 1;
    const random = () => (seed = (seed * 48271) % 2147483647) / 2147483647;
    const normal = () => Math.sqrt(-2 * Math.log(random())) * Math.cos(2 * Math.PI * random());

    it.each<[string, () => number, number]>([
      ['as weights are', () => 0.05 * normal(), 0.9],
      ['with few that are large', () => normal() ** 3, 0.95],
      ['of one sign', () => Math.abs(normal()), 0.9],
      ['near the least of f16', () => 1e-7 * normal(), 1.1], // scales are few there
    ])("is nearer than ggml's blocks, of numbers %s", (_, draw, most) => {
      const values = Float32Array.from({ length: 32 * 500 }, draw);
      const error = errorOf(values, meantBy(toBlocks(values, 'q4', 32)));
      expect(error).toBeGreaterThan(0);
      expect(error).toBeLessThan(most * errorOf(values, meantByGgml(values)));
    });

    it('keeps what four bits have, and zeros', () => {
      const whole = Float32Array.from({ length: 64 }, (_, i) => (i < 32 ? 0.25 * ((i % 16) - 8) : 0));
      expect(meantBy(toBlocks(whole, 'q4', 32)).map((x) => x + 0)).toEqual([...whole]);
      const turned = meantBy(toBlocks(whole.map((x) => -x), 'q4', 32)); // prettier-ignore
      expect(turned.map((x) => x + 0)).toEqual([...whole].map((x) => 0 - x));
    });
  });

  describe('as native', () => {
    // Rows are whole groups of 64: all sizes of the tiny model twice.
    const twice = (size: number) => (size === 32 || size === 64 ? 2 * size : size);
    const wide = new Map(filesOf(tiny));
    const config = JSON.parse(Buffer.from(wide.get('config.json') as Uint8Array).toString());
    for (const key of ['hidden_size', 'intermediate_size', 'max_position_embeddings']) config[key] = twice(config[key]);
    wide.set('config.json', Buffer.from(JSON.stringify(config)));
    const isMatrix = (shape: number[]) => shape.length === 2;
    const weights = changed(wide.get('model.safetensors') as Uint8Array, (tensors) => {
      let seed = 1;
      const random = () => (seed = (seed * 48271) % 2147483647) / 2147483647 - 0.5;
      for (const [name, { shape }] of [...tensors])
        tensors.set(
          name,
          floats(shape.map(twice), () => (isMatrix(shape) ? 0.2 * random() ** 3 : random())),
        );
    });
    wide.set('model.safetensors', weights);

    it('has the bits of the original loaded as q8', async () => {
      const bytes = await packModel(wide, { dtype: 'native' });
      const report = await packTo(wide, () => {}, { dtype: 'native' });
      expect(report).toMatchObject({ bytes: bytes.length, llama_cpp: null, why_not: expect.stringMatching(/native/) });
      const q8 = await vectors(wide, { dtype: 'q8' });
      expect(q8).not.toEqual(await vectors(wide));
      expect(await vectors(named(bytes), { dtype: 'q8' })).toEqual(q8);
      for (const dtype of ['q16', 'f32'] as const)
        expect(largestDifference(await vectors(named(bytes), { dtype }), q8)).toBeLessThan(0.02);
    });

    it('refuses a scale that is no number, and quantizes again what q8 would not hold', async () => {
      const bytes = await packModel(wide, { dtype: 'native' });
      const header = Buffer.from(bytes).indexOf('blk.0.ffn_up.weight'); // name, dimensions, type, offset
      const view = new DataView(bytes.buffer, bytes.byteOffset);
      const at = header + 19 + 4 + 16 + 4;
      const begin = bytes.length - (await dataBytes(wide)) + Number(view.getBigUint64(at, true));
      expect(view.getUint32(at - 4, true)).toBe(65536);
      const changedAt = (change: (block: DataView) => void) => {
        const copy = bytes.slice();
        change(new DataView(copy.buffer, begin, 68));
        return named(copy);
      };
      await expectError(
        vectors(
          changedAt((block) => block.setFloat32(0, NaN, true)),
          { dtype: 'q8' },
        ),
        'ModelFormatError',
        /tensor 'blk\.0\.ffn_up\.weight': expected finite numbers, found NaN at row 0, column 0/,
      );
      const large = changedAt((block) => {
        for (let i = 4; i < 68; ++i) block.setInt8(i, 127);
      });
      const [a, b] = [await vectors(large, { dtype: 'q8' }), await vectors(large)];
      expect(largestDifference(a, b)).toBeLessThan(0.02);
    });

    const dataBytes = async (model: ReadonlyMap<string, Uint8Array>) => {
      const chunks: number[] = [];
      await packTo(model, (chunk) => void chunks.push(chunk.length), { dtype: 'native' });
      return chunks.slice(1).reduce((sum, size) => sum + size, 0);
    };
  });

  it('carries the tokenizer, the prompts, and the Dense modules', async () => {
    const folder = join(goldens, 'bert-tiny/model');
    const files = new Map([...filesOf(folder), ...filesOf(join(goldens, 'sentence/model'))]);
    const packed = await packModel(files, { dtype: 'f32' });
    expect(await vectors(named(packed))).toEqual(await vectors(files));
    const [a, b] = await Promise.all([AutoTokenizer.from_pretrained(named(packed)), AutoTokenizer.from_pretrained(files)]);
    expect(a(texts, { return_tensor: false })).toEqual(b(texts, { return_tensor: false }));
  });

  it('gives back the vocabulary that its header has', async () => {
    const parsed = (bytes: Uint8Array | undefined) => JSON.parse(Buffer.from(bytes ?? []).toString());
    const { vocab } = parsed(filesOf(tiny).get('tokenizer.json')).model;
    const embed = await pipeline('feature-extraction', named(await packModel(tiny, { dtype: 'q8' })));
    expect(parsed((await embed.tokenizer.save_pretrained())['tokenizer.json']).model.vocab).toEqual(vocab);
    const distilled = (await distill(embed, { token_remove_pattern: null })).save();
    expect(Object.keys(parsed(distilled['tokenizer.json']).model.vocab)).toEqual(expect.arrayContaining(['the', '##s']));
    await embed.dispose();
  });

  it('is read from one file by every door: a path, bytes, a worker', async () => {
    const expected = await vectors(tiny);
    const path = join(goldens, 'gguf/f32.gguf');
    expect(await vectors(path)).toEqual(expected);
    expect(await vectors(named(readFileSync(path)))).toEqual(expected);
    expect(await vectors(path, { worker: true })).toEqual(expected);
    const model = await AutoModel.from_pretrained(path);
    expect(model.config).toMatchObject({ model_type: 'bert', num_hidden_layers: 2 });
    await model.dispose();
  });

  it('holds what it read while it reads on', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'wattn-pack-'));
    cpSync(tiny, folder, { recursive: true });
    const between = floats([1 << 20], () => 1); // 4 MB that the model does not use
    const part = (tensors: Tensors) => {
      const all = [...tensors];
      tensors.clear();
      all.forEach(([name, entry], i) => {
        if (i === all.length >> 1) tensors.set('cls.seq_relationship.weight', between);
        tensors.set(name, entry);
      });
    };
    writeFileSync(join(folder, 'model.safetensors'), changed(readFileSync(join(tiny, 'model.safetensors')), part));
    expect(await vectors(named(await packModel(folder, { dtype: 'f32' })))).toEqual(await vectors(tiny));
    rmSync(folder, { recursive: true });
  });

  it('refuses a file of weights that the loader refuses', async () => {
    const whole = filesOf(tiny).get('model.safetensors') as Uint8Array;
    for (const [weights, message] of [
      [whole.slice(0, -4), /^ModelFormatError: model\.safetensors: expected \d+ bytes of tensors .* \(cut off\)/],
      [new Uint8Array([...whole, 0]), /^ModelFormatError: model\.safetensors: .* \(bytes left over\)/],
      [new TextEncoder().encode('{"no": "tensors"}'), /^ModelFormatError: model\.safetensors: expected a header length/],
    ] as const) {
      const files = new Map([...filesOf(tiny), ['model.safetensors', weights]] as [string, Uint8Array][]);
      expect(String(await failure(packModel(files)))).toMatch(message);
    }
  });

  it('costs q8 little accuracy and a quarter of the size', async () => {
    const [whole, packed] = [await packModel(tiny, { dtype: 'f32' }), await packModel(tiny, { dtype: 'q8' })];
    expect(packed.length).toBeLessThan(0.6 * whole.length); // of a tiny model the tokenizer is a good part
    const [a, b] = [await vectors(tiny), await vectors(named(packed))];
    expect(largestDifference(a, b)).toBeLessThan(0.02); // unit vectors of 32: weights off by at most 1/254 of their block's largest
    expect(a).not.toEqual(b);
  });

  it('is closed when it cannot be loaded', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'wattn-gguf-'));
    const path = join(folder, 'other.gguf');
    const bytes = Buffer.from(await packModel(tiny, { dtype: 'q8' }));
    bytes.write('tref', bytes.indexOf('bert', bytes.indexOf('model_type')));
    writeFileSync(path, Buffer.concat([bytes, Buffer.alloc(3 << 20)])); // its weights are some way off
    expect((await failure(pipeline('feature-extraction', path))).message).toMatch(/tref/);
    const isOpen = (descriptor: string) =>
      existsSync(`/proc/self/fd/${descriptor}`) && readlinkSync(`/proc/self/fd/${descriptor}`) === path;
    if (process.platform === 'linux') await until(() => !readdirSync('/proc/self/fd').some(isOpen));
    rmSync(folder, { recursive: true });
  });

  it('refuses what is no model, by name', async () => {
    const packed = await packModel(tiny, { dtype: 'q8' });
    expect((await failure(packModel(named(packed)))).message).toMatch(/found a GGUF file/);
    for (const size of [0, 3, 100, 5000, packed.length - 1]) {
      const error = await failure(pipeline('feature-extraction', named(packed.slice(0, size))));
      expect(error.name).toBe('ModelFormatError');
    }
  });
});

describe("llama.cpp's names", () => {
  const metadataOf = (bytes: Uint8Array) => new TextDecoder('latin1').decode(bytes.subarray(0, 1 << 16));
  const withTokenizer = (folder: string) => {
    const files = filesOf(join(goldens, folder));
    for (const name of [...files.keys()]) if (name.endsWith('.gguf')) files.delete(name);
    const special = ['[PAD]', '[UNK]', '[CLS]', '[SEP]'];
    const flags = { single_word: false, lstrip: false, rstrip: false, normalized: false };
    const vocab = Object.fromEntries([...special, ...'abcdefgh', '##a', '##b'].map((piece, id) => [piece, id]));
    const tokenizer = {
      added_tokens: special.map((content, id) => ({ id, content, ...flags, special: true })),
      normalizer: { type: 'BertNormalizer', clean_text: true, handle_chinese_chars: true, strip_accents: null, lowercase: true },
      pre_tokenizer: { type: 'BertPreTokenizer' },
      model: { type: 'WordPiece', unk_token: '[UNK]', continuing_subword_prefix: '##', max_input_chars_per_word: 100, vocab },
    };
    const encode = (value: unknown) => new TextEncoder().encode(JSON.stringify(value));
    files.set('tokenizer.json', encode(tokenizer)).set('tokenizer_config.json', encode({ tokenizer_class: 'BertTokenizer' }));
    for (const name of folder.includes('roberta') ? ['modules.json', '1_Pooling/config.json'] : [])
      files.set(name, filesOf(tiny).get(name) as Uint8Array);
    return files;
  };
  const kKnown = {
    'architectures/roberta': 'bert',
    'architectures/xlm-roberta': 'bert',
    'decoders/smollm': 'llama',
    'decoders/qwen3': 'qwen3',
    'decoders/gemma': 'gemma',
  };

  it.each(Object.entries(kKnown))('leave every bit of %s as it was', async (folder, architecture) => {
    const files = withTokenizer(folder);
    const parts: Uint8Array[] = [];
    const report = await packTo(files, (chunk) => void parts.push(chunk.slice()), { dtype: 'f32' });
    if (report.llama_cpp === null) throw new Error(`${folder}: ${report.why_not}`);
    expect(report.llama_cpp).toBe(architecture);
    const packed = named(new Uint8Array(Buffer.concat(parts)));
    const run = async (from: Parameters<typeof AutoModel.from_pretrained>[0]) => {
      const model = await AutoModel.from_pretrained(from);
      const out = await model({ input_ids: [[5, 9, 7, 3, 12, 8]] });
      const states = [...out.last_hidden_state.data];
      await model.dispose();
      return states;
    };
    expect(await run(packed)).toEqual(await run(files));
  });

  it('are those of the usual keys, beside the files', async () => {
    const bytes = await packModel(tiny, { dtype: 'q8' });
    const text = metadataOf(bytes);
    for (const key of [
      'bert.block_count',
      'bert.pooling_type',
      'tokenizer.ggml.tokens',
      'blk.1.attn_output_norm.weight',
      'wattn.files',
    ])
      expect(text).toContain(key);
    expect(text).toContain('{"tokenizer.ggml.tokens":512}'); // the vocabulary is there once
    const [a, b] = await Promise.all([AutoTokenizer.from_pretrained(named(bytes)), AutoTokenizer.from_pretrained(tiny)]);
    expect(a([...texts, 'unaffable ##x [MASK]'], { return_tensor: false })).toEqual(
      b([...texts, 'unaffable ##x [MASK]'], { return_tensor: false }),
    );
  });

  it('are not given to what llama.cpp lacks, and the reason is named', async () => {
    const report = await packTo(withTokenizer('architectures/mpnet'), () => {}, { dtype: 'f32' });
    expect(report).toMatchObject({ llama_cpp: null, why_not: "wattn has no names of llama.cpp for 'mpnet'" });
  });
});
