// Cached copies of q8 weights: the second load reads a quarter of the bytes, makes no request and gives the same bits.
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { cache, env, pipeline, type CachedFile, type LoadOptions } from 'wattn';
import { hubAndCache, id, type RangeHub } from './range_hub.js';
import { changed } from './safetensors.js';
import { expectError, filesOf, goldens, root, tiny, turn, type Files } from './support.js';
import { answerOf, kFamilies, wideFiles } from './wide.js';

const kWeights = 'model.safetensors';
const wide = () => wideFiles(tiny);

describe('a copy of weights in the cache', () => {
  const own = hubAndCache(wide);
  let folder = '';
  let hub: RangeHub;
  let told: string[] = [];
  const { warn } = console;

  beforeEach(() => {
    ({ hub, folder } = own);
    told = [];
    console.warn = (text: string) => void told.push(text);
  });
  afterEach(() => void (console.warn = warn));

  const listed = async (): Promise<CachedFile[]> =>
    (await cache.list(id, { cache_dir: folder })).filter(({ file }) => file.endsWith('.safetensors'));
  /** Waits for the files of weights that the cache has, as '<file> <data type>'. */
  const weightsAre = async (...expected: string[]) => {
    let found: string[] = [];
    const end = Date.now() + 120_000; // a worker makes the copy, on a busy machine slowly
    while (Date.now() < end) {
      found = (await listed()).map(({ file, dtype }) => `${file} ${dtype ?? 'published'}`).sort();
      if (found.join() === expected.join() && !readdirSync(folder).some((name) => name.endsWith('.lock'))) break;
      await turn();
    }
    expect(found).toEqual(expected);
  };
  const vectors = async (more: LoadOptions = {}) => {
    const embed = await pipeline('feature-extraction', id, { cache_dir: folder, dtype: 'q8', ...more });
    const out = await embed(['the river', 'a boat']);
    await embed.dispose();
    return [...out.data];
  };
  const ofFiles = async (files: Files, dtype: 'q8' | 'f32' = 'q8') => {
    const embed = await pipeline('feature-extraction', files, { dtype });
    const out = await embed(['the river', 'a boat']);
    await embed.dispose();
    return [...out.data];
  };
  const folderOf = (file: string) => {
    const url = `${env.remoteHost}/${id}/resolve/main/${file}`;
    return join(folder, createHash('sha256').update(url).digest('hex').slice(0, 32));
  };
  const kCopied = `${kWeights} q8`;

  it('takes the place of the published file, and answers the second load without a request', async () => {
    const expected = await ofFiles(hub.files);
    expect(await vectors()).toEqual(expected);
    await weightsAre(kCopied);
    const [copy] = (await listed()) as [CachedFile];
    const published = (hub.files.get(kWeights) as Uint8Array).length;
    expect(copy).toMatchObject({ model: id, complete: true, url: `${env.remoteHost}/${id}/resolve/main/${kWeights}` });
    expect(copy.bytes).toBeLessThan(0.5 * published);
    expect(existsSync(folderOf(kWeights))).toBe(false);
    expect(await cache.has(id, { cache_dir: folder })).toBe(true);
    hub.requests = [];
    expect(await vectors()).toEqual(expected);
    expect(await vectors({ local_files_only: true })).toEqual(expected);
    expect(hub.requests).toEqual([]);
    expect(await cache.delete(id, { cache_dir: folder })).toBeGreaterThan(1);
    expect(readdirSync(folder)).toEqual([]);
  });

  it('is not read with another data type, which downloads the file and keeps both', async () => {
    const [q8, f32] = [await ofFiles(hub.files), await ofFiles(hub.files, 'f32')];
    await vectors();
    await weightsAre(kCopied);
    const error = await expectError(vectors({ dtype: 'f32', local_files_only: true }), 'InputError');
    expect(error.message).toMatch(/model\.safetensors: this file .* is not in the cache except as a copy for dtype: 'q8'/);
    expect(await vectors({ dtype: 'f32' })).toEqual(f32);
    hub.requests = [];
    expect(await vectors({ dtype: 'f32' })).toEqual(f32);
    expect(await vectors()).toEqual(q8);
    expect(hub.requests).toEqual([]);
    await weightsAre(`${kWeights} published`, kCopied);
  });

  it('is not made of a file that another data type has used', async () => {
    await vectors({ dtype: 'f32' });
    const expected = await ofFiles(hub.files);
    for (let i = 0; i < 2; ++i) {
      expect(await vectors()).toEqual(expected);
      await weightsAre(`${kWeights} published`);
    }
  });

  it('belongs to a revision, and to the file that was published there', async () => {
    await vectors();
    await weightsAre(kCopied);
    hub.requests = [];
    await vectors({ revision: 'next' });
    expect(hub.requests.filter((line) => line.includes(kWeights))).toEqual([`GET /${id}/resolve/next/${kWeights}`]);
    await cache.delete(id, { cache_dir: folder, revision: 'next' });
    // The file changes: a load with f32 has the new one, beside which the old copy is none.
    hub.etag = '"two"';
    hub.files.set(
      kWeights,
      changed(Buffer.from(hub.files.get(kWeights) as Uint8Array), (tensors) => {
        for (const tensor of tensors.values()) for (let i = 3; i < tensor.bytes.length; i += 64) tensor.bytes[i]! ^= 0x80;
      }),
    );
    await vectors({ dtype: 'f32' });
    expect(await vectors()).toEqual(await ofFiles(hub.files));
  });

  it('is not that of another version of the format', async () => {
    const expected = await vectors();
    await weightsAre(kCopied);
    const path = join(folderOf(`${kWeights}.wattn-q8`), 'entry.json');
    const entry = JSON.parse(readFileSync(path, 'utf8'));
    writeFileSync(path, JSON.stringify({ ...entry, copy: { ...entry.copy, format: 0 } }));
    hub.requests = [];
    expect(await vectors()).toEqual(expected);
    expect(hub.weights().length).toBe(1);
    await weightsAre(kCopied);
    expect(JSON.parse(readFileSync(path, 'utf8'))).toEqual(entry);
  });

  it('is thrown away where it is damaged, with one warning, and the file comes again', async () => {
    const expected = await vectors();
    await weightsAre(kCopied);
    const path = folderOf(`${kWeights}.wattn-q8`);
    const piece = readFileSync(join(path, '0'));
    for (const damage of [
      () => writeFileSync(join(path, '0'), piece.map((byte, i) => (i === piece.length >> 1 ? byte ^ 1 : byte))), // prettier-ignore
      () => writeFileSync(join(path, '0'), piece.subarray(0, 100)),
      () => rmSync(join(path, '0')),
    ]) {
      damage();
      await expectError(
        vectors({ local_files_only: true }),
        'InputError',
        /model\.safetensors: the cached copy is damaged, and the network/,
      );
      expect(told).toEqual([]);
      hub.requests = [];
      expect(await vectors()).toEqual(expected);
      expect(hub.weights().length).toBe(1);
      expect(told.splice(0).length).toBe(Number(damage.toString().includes('byte ^ 1'))); // a text is told once
      await weightsAre(kCopied);
      hub.requests = [];
      expect(await vectors()).toEqual(expected);
      expect(hub.requests).toEqual([]);
    }
  });

  it('is asked for again where the server has other files than the load can take, and stays if it is the same', async () => {
    await vectors();
    await weightsAre(kCopied);
    hub.requests = [];
    await expectError(pipeline('fill-mask', id, { cache_dir: folder, dtype: 'q8' }), 'UnsupportedError');
    expect(hub.weights()).toEqual([]); // a HEAD has its tag
    await weightsAre(kCopied);
  });

  it('stays beside the file where another task needs other numbers', async () => {
    const llama = wideFiles(join(goldens, 'decoders/smollm'));
    for (const name of [...hub.files.keys()]) hub.files.delete(name);
    for (const [name, bytes] of llama) hub.files.set(name, bytes);
    const options = { cache_dir: folder };
    const logits = await answerOf('decoder', id, options);
    await weightsAre(kCopied);
    hub.requests = [];
    expect(await answerOf('decoder', id, options)).toEqual(logits);
    expect(hub.weights()).toEqual([]);
    // A model without its head has its word embeddings by rows.
    const states = await answerOf('encoder', llama);
    expect(await answerOf('encoder', id, options)).toEqual(states);
    expect(hub.weights().length).toBe(1);
    await weightsAre(`${kWeights} published`, kCopied);
    hub.requests = [];
    expect(await answerOf('encoder', id, options)).toEqual(states);
    expect(await answerOf('decoder', id, options)).toEqual(logits);
    expect(hub.weights()).toEqual([]);
    expect(told).toEqual([]);
  });

  it('serves workers, of which the last makes it, and loads at once', async () => {
    const expected = await ofFiles(hub.files);
    const embed = await pipeline('feature-extraction', id, { cache_dir: folder, dtype: 'q8', worker: 3 });
    expect([...(await embed(['the river', 'a boat'])).data]).toEqual(expected);
    expect(hub.weights().length).toBe(1);
    const [one, two] = await Promise.all([vectors(), vectors({ worker: true })]);
    expect([one, two]).toEqual([expected, expected]);
    await weightsAre(kCopied);
    await embed.dispose();
    hub.requests = [];
    expect(await vectors({ worker: 2 })).toEqual(expected);
    expect(hub.requests).toEqual([]);
  });

  it('is made by the next load where the first was ended in the middle, at any write', async () => {
    const expected = await ofFiles(hub.files);
    const program = (writes: number) => `import fs from 'node:fs/promises';
      import { syncBuiltinESMExports } from 'node:module';
      const { writeFile } = fs;
      let left = ${writes};
      fs.writeFile = async (path, ...rest) => {
        if (String(path).includes(${JSON.stringify(folderOf(`${kWeights}.wattn-q8`))}) && left-- === 0) process.exit(9);
        return writeFile(path, ...rest);
      };
      syncBuiltinESMExports();
      const { env, pipeline } = await import(${JSON.stringify(join(root, 'dist/node.js'))});
      env.remoteHost = ${JSON.stringify(env.remoteHost)};
      const embed = await pipeline('feature-extraction', ${JSON.stringify(id)}, { cache_dir: ${JSON.stringify(folder)}, dtype: 'q8' });
      await embed.dispose();`;
    let ended = 0;
    for (let writes = 0; ; ++writes) {
      await cache.delete(id, { cache_dir: folder });
      const child = spawn(process.execPath, ['--input-type=module', '-e', program(writes)]);
      const code = await new Promise<number | null>((resolve) => child.on('close', resolve));
      if (code === 0) break; // it has made the copy
      expect(code).toBe(9);
      ++ended;
      hub.requests = [];
      expect(await vectors()).toEqual(expected);
      expect(hub.weights()).toEqual([]);
      await weightsAre(kCopied);
      expect(await vectors({ local_files_only: true })).toEqual(expected);
    }
    expect(ended).toBeGreaterThanOrEqual(3);
    await weightsAre(kCopied);
  });

  (process.platform === 'win32' ? it.skip : it)('is not made where the disk is full, and the load is as before', async () => {
    const { length } = hub.files.get(kWeights) as Uint8Array;
    // The last piece of the copy is longer than files may be.
    const program = `import { env, pipeline } from ${JSON.stringify(join(root, 'dist/node.js'))};
      env.remoteHost = ${JSON.stringify(env.remoteHost)};
      const embed = await pipeline('feature-extraction', ${JSON.stringify(id)}, { cache_dir: ${JSON.stringify(folder)}, dtype: 'q8' });
      console.log(JSON.stringify([...(await embed(['the river', 'a boat'])).data]));
      await embed.dispose();`;
    const blocks = Math.floor((0.1 * length) / 512);
    const child = spawn('sh', ['-c', `ulimit -f ${blocks} && exec "$0" --input-type=module -e "$1"`, process.execPath, program]);
    let said = '';
    child.stdout.on('data', (data) => (said += data));
    const code = await new Promise<number | null>((resolve) => child.on('close', resolve));
    expect([code, JSON.parse(said)]).toEqual([0, await ofFiles(hub.files)]);
    expect((await listed()).filter(({ dtype }) => dtype)).toEqual([]);
  });

  it('is gone with cache.delete, whenever that is', async () => {
    await vectors();
    await cache.delete(id, { cache_dir: folder }); // the copy is being made
    for (let i = 0; i < 200; ++i) await turn();
    expect(await listed()).toEqual([]);
    expect((await vectors()).length).toBeGreaterThan(0);
    await weightsAre(kCopied);
  });

  it('is made of each shard, and of the file of a module', async () => {
    const expected = await ofFiles(hub.files);
    const whole = Buffer.from(hub.files.get(kWeights) as Uint8Array);
    const weight_map: Record<string, string> = {};
    const shard = (number: number) => `model-0000${number}-of-00002.safetensors`;
    for (const number of [1, 2]) {
      const part = changed(whole, (tensors) => {
        [...tensors.keys()].forEach((name) => {
          if ((/word_embeddings|layer\.0/.test(name) ? 1 : 2) !== number) tensors.delete(name);
          else weight_map[name] = shard(number);
        });
      });
      hub.files.set(shard(number), part);
    }
    hub.files.delete(kWeights);
    hub.files.set(`${kWeights}.index.json`, new TextEncoder().encode(JSON.stringify({ weight_map })));
    expect(await vectors()).toEqual(expected);
    await weightsAre(`${shard(1)} q8`, `${shard(2)} q8`);
    hub.requests = [];
    expect(await vectors()).toEqual(expected);
    expect(hub.requests).toEqual([]);
  });

  it('is not made of weights of which it would save little', async () => {
    for (const [name, bytes] of filesOf(tiny)) hub.files.set(name, bytes); // rows of 32, which q8 has in no groups
    const expected = await vectors();
    await weightsAre(`${kWeights} published`);
    expect(await vectors()).toEqual(expected);
  });

  it.each(['q16', 'q4', 'f16'] as const)('is not made with %s', async (dtype) => {
    const expected = await vectors({ dtype });
    await weightsAre(`${kWeights} published`);
    hub.requests = [];
    expect(await vectors({ dtype })).toEqual(expected);
    expect(hub.requests).toEqual([]);
  });

  describe.each(Object.entries(kFamilies))('of an %s', (kind, folders) => {
    it.each(folders)('has the bits of the first load: %s', async (name) => {
      for (const each of [...hub.files.keys()]) hub.files.delete(each);
      for (const [each, bytes] of wideFiles(join(goldens, name))) hub.files.set(each, bytes);
      const options = { cache_dir: folder };
      const expected = await answerOf(kind, id, options);
      // GPT-2 stores matrices by columns, which are no groups; experts are no matrices.
      if (/gpt2|moe/.test(name)) return;
      await weightsAre(kCopied);
      hub.requests = [];
      expect(await answerOf(kind, id, options)).toEqual(expected);
      expect(hub.weights()).toEqual([]);
    });
  });
});
