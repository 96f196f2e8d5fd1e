// Models with pytorch_model.bin, from every source: the same bits as from safetensors.
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { AutoModel, AutoModelForSeq2SeqLM, cache, describeModel, env, inspectModel, packModel, pipeline, type ModelSpecifier, type ProgressInfo } from 'wattn'; // prettier-ignore
import { linesOf, wattn } from './cli_support.js';
import { id, kPiece, longFiles, RangeHub } from './range_hub.js';
import { floats, readTensors } from './safetensors.js';
import { expectError, filesOf, goldens, serveHub, tiny, tinyFiles, type Files } from './support.js';
import { torchOf } from './torch_zip.js';

const kBin = 'pytorch_model.bin';
const texts = ['the', 'A small boat waits below the old bridge.'];
const golden = (name: string) => new Uint8Array(readFileSync(join(goldens, 'torch', name)));
const encode = (json: unknown) => new TextEncoder().encode(JSON.stringify(json));

/** The tiny model as torch.save saved it, with other files laid over. */
const torchFiles = (over: Parameters<typeof tinyFiles>[0] = {}) =>
  tinyFiles({ 'model.safetensors': null, [kBin]: golden(kBin), ...over });

async function vectors(model: ModelSpecifier, options = {}): Promise<number[]> {
  const embed = await pipeline('feature-extraction', model, options);
  const { data } = await embed(texts);
  await embed.dispose();
  return [...data];
}

/** A folder with these files, which the work gets. */
async function inFolder<T>(files: Files, work: (folder: string) => Promise<T>): Promise<T> {
  const folder = mkdtempSync(join(tmpdir(), 'wattn-torch-'));
  for (const [name, bytes] of files) {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), bytes);
  }
  try {
    return await work(folder);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

let expected: number[];
beforeAll(async () => {
  expected = await vectors(tiny);
});

describe('pytorch_model.bin', () => {
  it('has the vectors of model.safetensors: bytes, Blobs, a folder, a worker', async () => {
    const files = torchFiles();
    expect(await vectors(files)).toEqual(expected);
    const blobs = new Map([...files].map(([name, bytes]) => [name, new Blob([bytes as Uint8Array<ArrayBuffer>])]));
    expect(await vectors(blobs)).toEqual(expected);
    await inFolder(files, async (folder) => {
      expect(await vectors(folder)).toEqual(expected);
      expect(await vectors(folder, { worker: true })).toEqual(expected);
    });
  });

  it('may be streams without parts', async () => {
    const files = new Map<string, any>(torchFiles());
    const bytes = files.get(kBin) as Uint8Array<ArrayBuffer>;
    files.set(kBin, { size: bytes.length, stream: () => new Blob([bytes]).stream(), arrayBuffer: async () => bytes.buffer });
    expect(await vectors(files)).toEqual(expected);
  });

  it('comes after model.safetensors, and after its index', async () => {
    expect(await vectors(tinyFiles({ [kBin]: 'no zip' }))).toEqual(expected);
    const sharded = tinyFiles({ 'model.safetensors': null, [kBin]: 'no zip' }, 'model-sharded');
    sharded.delete('model.safetensors');
    expect((await vectors(sharded)).length).toBe(expected.length);
  });

  it('may lie in shards', async () => {
    const all = [...readTensors(tinyFiles().get('model.safetensors') as Uint8Array)];
    const [a, b] = ['pytorch_model-00001-of-00002.bin', 'pytorch_model-00002-of-00002.bin'] as const;
    const half = Math.floor(all.length / 2);
    const weight_map = Object.fromEntries(all.map(([name], i) => [name, i < half ? a : b]));
    const files = tinyFiles({ 'model.safetensors': null });
    files.set('pytorch_model.bin.index.json', encode({ metadata: { total_size: 1 }, weight_map }));
    files.set(a, torchOf(new Map(all.slice(0, half))));
    files.set(b, torchOf(new Map(all.slice(half))));
    expect(await vectors(files)).toEqual(expected);
    await inFolder(files, async (folder) => {
      const events: ProgressInfo[] = [];
      expect(await vectors(folder, { progress_callback: (info: ProgressInfo) => events.push(info) })).toEqual(expected);
      expectHonest(events, files);
      const packed = await packModel(folder, { dtype: 'f32' });
      expect(await vectors({ 'model.gguf': packed })).toEqual(expected);
    });
    files.delete(b);
    await expectError(vectors(files), 'ModelFormatError', /pytorch_model-00002-of-00002\.bin: expected this file/);
    files.set('pytorch_model.bin.index.json', encode({ weight_map: { a: 'model-00001-of-00001.safetensors' } }));
    await expectError(vectors(files), 'ModelFormatError', /expected the name of a \.bin file beside the index/);
  });

  it('may be those of a Dense module, beside either kind of model', async () => {
    const sentence = filesOf(join(goldens, 'sentence/model'));
    const [config, dense] = [sentence.get('modules.json'), sentence.get('2_Dense/model.safetensors')] as [Uint8Array, Uint8Array];
    const small = { 'modules.json': config, '2_Dense/config.json': sentence.get('2_Dense/config.json') as Uint8Array };
    const wanted = await vectors(tinyFiles({ ...small, '2_Dense/model.safetensors': dense }));
    expect(wanted.length).toBe(2 * 13);
    const bin = { ...small, '2_Dense/pytorch_model.bin': golden('dense.bin') };
    expect(await vectors(tinyFiles(bin))).toEqual(wanted);
    expect(await vectors(torchFiles({ ...small, '2_Dense/model.safetensors': dense }))).toEqual(wanted);
    await inFolder(torchFiles(bin), async (folder) => {
      const events: ProgressInfo[] = [];
      expect(await vectors(folder, { progress_callback: (info: ProgressInfo) => events.push(info) })).toEqual(wanted);
      expectHonest(events, torchFiles(bin));
      expect(await vectors({ 'model.gguf': await packModel(folder, { dtype: 'f32' }) })).toEqual(wanted);
    });
    await expectError(
      vectors(tinyFiles(small)),
      'ModelFormatError',
      /2_Dense\/model\.safetensors: expected this file \(or 2_Dense\/pytorch_model\.bin\)/,
    );
  });

  it('may have one storage for the words of both stacks and the output, as encoder-decoders do', async () => {
    const folder = join(goldens, 'seq2seq/t5');
    const files = filesOf(folder);
    const tensors = readTensors(files.get('model.safetensors') as Uint8Array);
    files.delete('model.safetensors');
    const shared = ['encoder.embed_tokens.weight', 'decoder.embed_tokens.weight', 'lm_head.weight'];
    files.set(kBin, torchOf(tensors, Object.fromEntries(shared.map((name) => [name, 'shared.weight']))));
    const ids = { input_ids: [[5, 6, 7, 1]], decoder_input_ids: [[0, 4]] };
    const [ours, theirs] = await Promise.all([
      AutoModelForSeq2SeqLM.from_pretrained(files),
      AutoModelForSeq2SeqLM.from_pretrained(folder),
    ]);
    expect((await ours(ids)).logits.data).toEqual((await theirs(ids)).logits.data);
    await Promise.all([ours.dispose(), theirs.dispose()]);
  });

  it('is named in messages, and both names where there are no weights', async () => {
    const lacking = readTensors(tinyFiles().get('model.safetensors') as Uint8Array);
    lacking.set(
      'other',
      floats([2], () => 1),
    );
    await expectError(
      vectors(torchFiles({ [kBin]: torchOf(lacking) })),
      'ModelFormatError',
      /^ModelFormatError: pytorch_model\.bin: tensor 'other' \[2\]: this architecture/,
    );
    await expectError(
      vectors(torchFiles({ [kBin]: null })),
      'ModelFormatError',
      /model\.safetensors: expected this file \(or model\.safetensors\.index\.json or pytorch_model\.bin or pytorch_model\.bin\.index\.json\)/,
    );
    await expectError(vectors(torchFiles({ [kBin]: golden('legacy.bin') })), 'UnsupportedError', /before torch 1\.6/);
    await expectError(vectors(torchFiles({ [kBin]: golden('script.bin') })), 'UnsupportedError', /TorchScript/);
  });

  it('is described, inspected and packed', async () => {
    await inFolder(torchFiles(), async (folder) => {
      expect(await describeModel(folder)).toEqual(await describeModel(tiny));
      const [ours, theirs] = [await inspectModel(folder), await inspectModel(tiny)];
      expect(ours.layers).toEqual(theirs.layers);
      expect(ours.bytes).toEqual(theirs.bytes);
      expect(Object.keys(ours.files)).toEqual([kBin]);
      expect(await vectors({ 'model.gguf': await packModel(folder, { dtype: 'f32' }) })).toEqual(expected);
      const [line] = linesOf(await wattn(['embed', '--model', folder, 'the']));
      expect(line.embedding).toEqual((linesOf(await wattn(['embed', '--model', tiny, 'the']))[0] as any).embedding);
    });
  });
});

describe('adapter_model.bin', () => {
  it('is that of older versions of PEFT', async () => {
    const files = filesOf(join(goldens, 'peft/bert'));
    const adapted = await vectors(tiny, { adapter: files });
    expect(adapted).not.toEqual(expected);
    const bin = new Map([...files].filter(([name]) => !name.endsWith('.safetensors')));
    await expectError(
      vectors(tiny, { adapter: bin }),
      'ModelFormatError',
      /adapter_model\.safetensors: expected this file \(or adapter_model\.bin\)/,
    );
    bin.set('adapter_model.bin', torchOf(readTensors(files.get('adapter_model.safetensors') as Uint8Array)));
    expect(await vectors(tiny, { adapter: bin })).toEqual(adapted);
  });
});

describe('a model without a tokenizer', () => {
  it('runs on ids, here and in a worker, and is refused where texts are read', async () => {
    const files = tinyFiles({ 'tokenizer.json': null, 'tokenizer_config.json': null });
    const ids = { input_ids: [[2, 5, 6, 3]] };
    const whole = await AutoModel.from_pretrained(tiny);
    const { data } = (await whole(ids)).last_hidden_state;
    for (const worker of [false, true]) {
      const model = await AutoModel.from_pretrained(files, { worker });
      await model.warmup();
      expect((await model(ids)).last_hidden_state.data).toEqual(data);
      await model.dispose();
    }
    await whole.dispose();
    await expectError(vectors(files), 'ModelFormatError', /tokenizer\.json: expected this file/);
  });
});

function expectHonest(events: readonly ProgressInfo[], files: Files): void {
  const total = [...files].reduce((sum, [name, bytes]) => sum + (name === '2_Normalize/config.json' ? 0 : bytes.length), 0);
  const steps = events.filter((event) => event.status === 'progress');
  expect(steps.length).toBeGreaterThan(0);
  steps.forEach((step, i) => {
    expect(step.total).toBe(total);
    expect(step.loaded).toBeGreaterThan(i === 0 ? 0 : (steps[i - 1]?.loaded as number));
  });
  expect(steps.at(-1)?.loaded).toBe(total);
  expect(events.at(-1)?.status).toBe('ready');
}

describe('pytorch_model.bin of a server', () => {
  const before = { ...env };
  let folder = '';
  let hub: RangeHub;
  /** Weights of several pieces: a tensor that is ignored makes them long. */
  const long = (() => {
    const files = longFiles();
    files.set(kBin, torchOf(readTensors(files.get('model.safetensors') as Uint8Array)));
    files.delete('model.safetensors');
    return files;
  })();

  beforeEach(async () => {
    folder = mkdtempSync(join(tmpdir(), 'wattn-torch-cache-'));
    hub = new RangeHub(new Map(long));
    await hub.start();
  });
  afterEach(async () => {
    Object.assign(env, before);
    await hub.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  it('is streamed once, with its end and its description before', async () => {
    const events: ProgressInfo[] = [];
    expect(await vectors(id, { progress_callback: (info: ProgressInfo) => events.push(info) })).toEqual(expected);
    const gets = hub.gets(kBin).filter((line) => !line.includes('index.json'));
    expect(gets.filter((line) => !line.includes('bytes=')).length).toBe(1);
    expect(gets.filter((line) => /bytes=\d+-\d+$/.test(line)).length).toBe(gets.length - 1);
    expect(gets.length).toBeLessThanOrEqual(4);
    expectHonest(events, long);
  });

  it('is read whole from a server without ranges', async () => {
    hub.ranges = false;
    expect(await vectors(id)).toEqual(expected);
    const plain = await serveHub(torchFiles(), '/m/');
    expect(await vectors(`${plain.url}/m/`)).toEqual(expected);
    await plain.close();
    // One that sends another part.
    hub.ranges = true;
    hub.faults.set(kBin, (response, bytes, request) => {
      if (!/bytes=\d+-\d/.test(request.headers.range ?? '')) return 'none';
      return response.writeHead(206, { 'content-range': `bytes 5-9/${bytes.length}` }).end(bytes.subarray(5, 10));
    });
    expect(await vectors(id)).toEqual(expected);
  });

  it('is cached, is repaired, and loads without a network', async () => {
    env.useCache = true;
    const options = { cache_dir: folder };
    expect(await vectors(id, options)).toEqual(expected);
    expect(await cache.has(id, options)).toBe(true);
    hub.requests = [];
    expect(await vectors(id, options)).toEqual(expected);
    expect(hub.gets(`${kBin}`).filter((line) => !line.includes('index.json'))).toEqual([]);
    expect(await vectors(id, { ...options, local_files_only: true })).toEqual(expected);
    // The rest of a file with a damaged piece is downloaded, wherever that is: the first one has the description, the last one the directory.
    const entry = readdirSync(folder).find((name) => readFileSync(join(folder, name, 'url'), 'utf8').endsWith(kBin)) as string;
    for (const piece of ['0', '1', '2']) {
      hub.requests = [];
      const path = join(folder, entry, piece);
      const bytes = readFileSync(path);
      bytes[bytes.length >> 1] = 1 ^ (bytes[bytes.length >> 1] as number);
      writeFileSync(path, bytes);
      expect(await vectors(id, options)).toEqual(expected);
      const range = piece === '0' ? '' : ` bytes=${Number(piece) * kPiece}-`;
      expect(hub.gets(kBin)).toContain(`GET /org/tiny/resolve/main/${kBin}${range}`);
      hub.requests = [];
      expect(await vectors(id, options)).toEqual(expected);
      expect(hub.gets(kBin).filter((line) => !line.includes('index.json'))).toEqual([]);
    }
  });

  it('goes on where a broken download stopped', async () => {
    env.useCache = true;
    const options = { cache_dir: folder };
    hub.faults.set(kBin, (response, bytes, request) => {
      if (/bytes=\d+-\d/.test(request.headers.range ?? '')) return 'none';
      if (request.headers.range) return response.writeHead(403).end();
      response.writeHead(200, { etag: '"one"', 'content-length': bytes.length });
      return response.write(bytes.subarray(0, kPiece + 1000), () => response.destroy());
    });
    await expectError(vectors(id, options), 'NetworkError');
    hub.faults.clear();
    hub.requests = [];
    expect(await vectors(id, options)).toEqual(expected);
    expect(hub.gets(kBin)).toContain(`GET /org/tiny/resolve/main/${kBin} bytes=${kPiece}-`);
  });

  it('that answers with HTML is named', async () => {
    hub.faults.set(kBin, (response) =>
      response.writeHead(200, { 'content-type': 'application/zip' }).end('<!doctype html>Sign in'),
    );
    await expectError(
      vectors(id),
      'ModelFormatError',
      /pytorch_model\.bin: expected a zip of torch\.save from http.*, found HTML or XML/,
    );
  });
});
