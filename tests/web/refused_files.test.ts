// Files that a loader rejects: nothing wrong is cached, and their cached pieces are requested once more.
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { AutoTokenizer, cache, env, inspectModel, pipeline, type ProgressInfo } from 'wattn';
import { endless, type Fault, faults, id, kPiece, hubAndCache, longFiles, RangeHub } from './range_hub.js';
import { expectError, failure, root, tiny } from './support.js';

/** A file whose announced size is refused before its bytes are read. */
const tooLong: Fault = (response) => response.writeHead(200, { 'content-length': 2 ** 40 }).write(' ');

describe('a refused file', () => {
  const own = hubAndCache(longFiles);
  let folder = '';
  let hub: RangeHub;
  let expected: number[] = [];

  const vectors = async (options = {}) => {
    const embed = await pipeline('feature-extraction', id, { cache_dir: folder, ...options });
    const out = await embed(['the river', 'a boat']);
    await embed.dispose();
    return [...out.data];
  };
  const folderOf = (file: string) =>
    readdirSync(folder)
      .map((name) => join(folder, name))
      .find((path) => readFileSync(join(path, 'url'), 'utf8').endsWith(`/main/${file}`)) as string;
  /** Changes the entry of a file as a broken store might. */
  const damaged = (file: string, change: object) => {
    const path = join(folderOf(file), 'entry.json');
    writeFileSync(path, JSON.stringify({ ...JSON.parse(readFileSync(path, 'utf8')), ...change }));
  };
  const sizeOf = (file: string) => (hub.files.get(file) as Uint8Array).length;
  const listed = async (file: string) => (await cache.list(id, { cache_dir: folder })).find((entry) => entry.file === file);

  beforeAll(async () => {
    const embed = await pipeline('feature-extraction', tiny);
    expected = [...(await embed(['the river', 'a boat'])).data];
    await embed.dispose();
  });
  beforeEach(() => ({ hub, folder } = own));

  for (const [fault, answer] of Object.entries(faults)) {
    for (const file of ['model.safetensors', 'tokenizer.json', 'config.json', 'modules.json']) {
      if (fault === 'list' && file === 'modules.json') continue; // a model without modules
      it(`is not kept: ${file} as ${fault}`, async () => {
        hub.faults.set(file, answer);
        expect((await failure(vectors())).name).toMatch(
          fault === 'noContent' ? /^NetworkError/ : /^(ModelFormat|Unsupported)Error/,
        );
        expect((await listed(file))?.complete ?? false).toBe(false);
        expect(await cache.has(id, { cache_dir: folder })).toBe(false);
        hub.faults.clear();
        expect(await vectors()).toEqual(expected);
        expect(await cache.has(id, { cache_dir: folder })).toBe(true);
        hub.requests = [];
        expect(await vectors()).toEqual(expected);
        expect([...hub.weights(), ...hub.gets(file)]).toEqual([]);
      });
    }
  }

  it('that another load left in the cache is requested again', async () => {
    for (const file of ['model.safetensors', 'tokenizer.json']) {
      hub.faults.set(file, faults.half);
      hub.faults.set('config.json', (response) => response.destroy()); // ends the load before anything is refused
      await expectError(vectors(), 'NetworkError');
      hub.faults.clear();
      expect(await vectors()).toEqual(expected);
      expect(await vectors({ local_files_only: true })).toEqual(expected);
      await cache.delete(id, { cache_dir: folder });
    }
  });

  it('that was accepted once is replaced by what the server has now', async () => {
    await vectors();
    const other = '{"model_type": "none"}';
    const asOther = (file: string) => {
      writeFileSync(join(folderOf(file), '0'), other);
      damaged(file, { size: other.length, etag: '"zero"', pieces: [createHash('sha256').update(other).digest('hex')] });
      hub.requests = [];
    };
    asOther('config.json');
    expect(await vectors()).toEqual(expected);
    expect(hub.gets('config.json').length).toBe(1);
    expect(hub.weights()).toEqual([]); // they were not read before the refusal
    hub.requests = [];
    expect(await vectors()).toEqual(expected);
    expect(hub.gets('config.json')).toEqual([]);
    asOther('model.safetensors');
    expect(await vectors()).toEqual(expected);
    expect(await vectors()).toEqual(expected);
    expect(hub.weights().length).toBe(2); // too long to be held until they were accepted, they are kept by the second load
    expect(await vectors({ local_files_only: true })).toEqual(expected);
    expect(hub.weights().length).toBe(2);
  });

  it('that fits no task of the loader stays for others', async () => {
    expect(await vectors()).toEqual(expected);
    hub.requests = [];
    const error = await failure(pipeline('text-classification', id, { cache_dir: folder }));
    expect(error.message).toMatch(/ForSequenceClassification/);
    expect(hub.weights()).toEqual([]); // the server says that it has the same weights
    await hub.stop();
    expect((await failure(pipeline('text-classification', id, { cache_dir: folder }))).message).toBe(error.message);
    expect(await vectors({ local_files_only: true })).toEqual(expected);
  });

  it('is repaired where only the size of its entry is wrong', async () => {
    expect(await vectors()).toEqual(expected);
    for (const file of ['model.safetensors', 'tokenizer.json', 'config.json']) {
      for (const size of [sizeOf(file) - 10, sizeOf(file) + 10, -1, 'many', sizeOf(file) + kPiece]) {
        damaged(file, { size });
        expect(await vectors()).toEqual(expected);
        hub.requests = [];
        expect(await vectors({ worker: true })).toEqual(expected);
        expect([...hub.weights(), ...hub.gets(file)]).toEqual([]);
      }
    }
  });

  it('is requested again by every loader, with the events of one load', async () => {
    const leave = async () => {
      await cache.delete(id, { cache_dir: folder });
      for (const file of ['model.safetensors', 'tokenizer.json']) hub.faults.set(file, faults.half);
      hub.faults.set('modules.json', (response) => response.destroy());
      await expectError(vectors(), 'NetworkError');
      hub.faults.clear();
    };
    await leave();
    const tokenizer = await AutoTokenizer.from_pretrained(id, { cache_dir: folder });
    expect(tokenizer.encode('the boat').length).toBeGreaterThan(2);
    await leave();
    const events: ProgressInfo[] = [];
    const { files } = await inspectModel(id, { cache_dir: folder, progress_callback: (info) => void events.push(info) });
    expect(files).toEqual({ 'model.safetensors': sizeOf('model.safetensors') });
    const begun = events.flatMap((event) => (event.status === 'initiate' ? [event.file] : []));
    expect(begun.length).toBe(new Set(begun).size);
    const loaded = events.flatMap((event) => (event.status === 'progress' ? [event.loaded] : []));
    expect(loaded).toEqual([...loaded].sort((a, b) => a - b));
  });

  // In a process of its own: there, much time passes between the writing of a piece and of the entry that names its hash.
  it('is deleted after the store has written it, however slow the store is', async () => {
    hub.faults.set('config.json', (...request) => setTimeout(tooLong, 200, ...request)); // after the others
    const program = `
      const { subtle } = globalThis.crypto;
      const digest = subtle.digest.bind(subtle);
      subtle.digest = (...bytes) => new Promise((resolve) => setTimeout(resolve, 600)).then(() => digest(...bytes));
      const { env, pipeline } = await import(${JSON.stringify(join(root, 'dist/node.js'))});
      env.remoteHost = ${JSON.stringify(env.remoteHost)};
      const load = pipeline('feature-extraction', ${JSON.stringify(id)}, { cache_dir: ${JSON.stringify(folder)} });
      await load.catch((error) => console.log(error.name));`;
    const child = spawn(process.execPath, ['--input-type=module', '-e', program], { stdio: ['ignore', 'pipe', 'inherit'] });
    const [said] = await Promise.all([text(child.stdout), once(child, 'close')]);
    expect(said.trim()).toBe('ModelFormatError');
    expect(await cache.list(id, { cache_dir: folder })).toEqual([]);
  });

  it('that is not weights has a limit, whether the server announces its size or not', async () => {
    hub.faults.set('modules.json', endless('{"a": 1,'));
    await expectError(
      vectors(),
      'ModelFormatError',
      /^.*modules\.json: expected a file of at most 134217728 bytes, found \d+ or more/,
    );
    hub.faults.clear();
    for (const file of ['config.json', 'tokenizer.json', 'tokenizer_config.json']) {
      hub.faults.set(file, tooLong);
      await expectError(vectors(), 'ModelFormatError', /: expected a file of at most 134217728 bytes, found 1099511627776 or more/);
      hub.faults.clear();
    }
    const kept = await cache.list(id, { cache_dir: folder });
    expect(kept.filter(({ file, complete, bytes }) => complete || file === 'modules.json' || bytes > 1e6)).toEqual([]);
    expect(await vectors()).toEqual(expected);
  });

  it('has the same limit for the header of a GGUF file', async () => {
    const begin = new Uint8Array(24 + 8 + 1 + 4 + 8);
    const view = new DataView(begin.buffer);
    begin.set(new TextEncoder().encode('GGUF'));
    view.setUint32(4, 3, true); // version
    view.setBigUint64(16, 1n, true); // one member, `a`, whose text has 4 GB
    view.setBigUint64(24, 1n, true);
    begin[32] = 'a'.charCodeAt(0);
    view.setUint32(33, 8, true);
    view.setBigUint64(37, 1n << 32n, true);
    hub.files.set('model.gguf', begin);
    hub.faults.set('model.gguf', endless(begin));
    const url = `${env.remoteHost}/${id}/resolve/main/model.gguf`;
    for (const load of [() => pipeline('feature-extraction', url), () => AutoTokenizer.from_pretrained(url)]) {
      await expectError(load, 'ModelFormatError', /model\.gguf: expected a header of at most 134217728 bytes/);
    }
  });
});
