// The download cache: a second load makes no request, an interrupted download resumes, a damaged file is repaired, and loading works if the cache
// fails.
import { spawn, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs'; // prettier-ignore
import { join } from 'node:path';
import { cache, env, pipeline } from 'wattn';
import { tryLockFile } from '../../web/source/lock_file.js';
import { id, kPiece, hubAndCache, longFiles, RangeHub } from './range_hub.js';
import { expectError, filesOf, root, tiny, turn, until } from './support.js';

const kLongAgo = new Date(Date.now() - 600_000);

describe('the cache', () => {
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
  const named = (pattern: RegExp) =>
    readdirSync(folder)
      .filter((name) => pattern.test(name))
      .map((name) => join(folder, name));
  const folders = () => named(/^\w+$/);
  const locks = () => named(/\.lock$/);
  /** What the lock of a process says. */
  const lockOf = async (pid: number) => {
    const path = join(folder, 'own.lock');
    const release = await tryLockFile(path);
    const own = JSON.parse(readFileSync(path, 'utf8'));
    release?.();
    return JSON.stringify({ ...own, pid, began: '' });
  };
  const weightsFolder = () => folders().find((path) => readFileSync(join(path, 'url'), 'utf8').endsWith('.safetensors')) as string;

  beforeAll(async () => {
    const embed = await pipeline('feature-extraction', tiny);
    expected = [...(await embed(['the river', 'a boat'])).data];
    await embed.dispose();
  });
  beforeEach(() => ({ hub, folder } = own));

  it('answers the second load without the weights being asked for, and then without a network', async () => {
    expect(await vectors()).toEqual(expected);
    expect(hub.weights().length).toBe(1);
    hub.requests = [];
    expect(await vectors()).toEqual(expected);
    expect(hub.weights()).toEqual([]);
    await hub.stop();
    expect(await vectors()).toEqual(expected);
    expect(await vectors({ local_files_only: true })).toEqual(expected);
  });

  it('puts few listeners on a signal, however many files a load asks for: Node warns of more than ten', async () => {
    for (const name of ['tokenizer.json', 'tokenizer_config.json']) hub.files.delete(name); // then it looks for every other vocabulary
    const counts = new Map<unknown, number>();
    const { addEventListener: add } = EventTarget.prototype;
    EventTarget.prototype.addEventListener = function (...call: Parameters<typeof add>) {
      if (call[0] === 'abort') counts.set(this, (counts.get(this) ?? 0) + 1);
      return add.apply(this, call);
    };
    try {
      await expectError(vectors(), 'ModelFormatError', /tokenizer\.json/);
    } finally {
      EventTarget.prototype.addEventListener = add;
    }
    expect(hub.requests.length).toBeGreaterThan(10);
    expect(Math.max(...counts.values())).toBeLessThanOrEqual(2);
  });

  it('goes on where a broken download stopped', async () => {
    hub.cut = kPiece + 1000;
    await expectError(vectors(), 'NetworkError');
    expect(await cache.has(id, { cache_dir: folder })).toBe(false);
    hub.cut = Infinity;
    hub.requests = [];
    expect(await vectors()).toEqual(expected);
    expect(hub.weights()).toEqual([`GET /${id}/resolve/main/model.safetensors bytes=${kPiece}-`]);
    expect(await cache.has(id, { cache_dir: folder })).toBe(true);
  });

  it('is not mistaken when the file changed between, or the server has no ranges', async () => {
    hub.cut = kPiece + 1000;
    await expectError(vectors(), 'NetworkError');
    hub.cut = Infinity;
    hub.etag = '"two"';
    expect(await vectors()).toEqual(expected);
    await cache.delete(id, { cache_dir: folder });
    hub.cut = kPiece + 1000;
    await expectError(vectors(), 'NetworkError');
    hub.cut = Infinity;
    hub.ranges = false;
    expect(await vectors()).toEqual(expected);
  });

  it('repairs a damaged piece, a missing one and a broken list', async () => {
    expect(await vectors()).toEqual(expected);
    const path = weightsFolder();
    const piece = readFileSync(join(path, '0'));
    for (const damage of [
      () =>
        writeFileSync(
          join(path, '0'),
          piece.map((byte, i) => (i === 5000 ? byte ^ 1 : byte)),
        ),
      () => writeFileSync(join(path, '0'), piece.subarray(0, 100)),
      () => rmSync(join(path, '1')),
      () => writeFileSync(join(path, 'entry.json'), '{"pieces": [1, 2'),
      () => writeFileSync(join(path, 'entry.json'), ''),
    ]) {
      damage();
      expect(await vectors()).toEqual(expected);
      hub.requests = [];
      expect(await vectors()).toEqual(expected);
      expect(hub.weights()).toEqual([]);
    }
  });

  it('says what is damaged when the network is forbidden', async () => {
    expect(await vectors()).toEqual(expected);
    rmSync(join(weightsFolder(), '1'));
    const error = await expectError(vectors({ local_files_only: true }), 'InputError');
    expect(error.message).toMatch(/model\.safetensors: the cached copy is damaged/);
    rmSync(folder, { recursive: true });
    expect((await expectError(vectors({ local_files_only: true }), 'InputError')).message).toMatch(/not in the cache/);
  });

  it('keeps nothing of HTML that came in place of a file', async () => {
    hub.files.set('config.json', new TextEncoder().encode('<!doctype html><title>Log in</title>'));
    await expectError(vectors(), 'ModelFormatError', /HTML/);
    hub.files.set('config.json', filesOf(tiny).get('config.json') as Uint8Array);
    expect(await vectors()).toEqual(expected);
  });

  it('loads all the same where nothing can be kept', async () => {
    const file = join(folder, 'taken');
    writeFileSync(file, '');
    expect(await vectors({ cache_dir: file })).toEqual(expected); // a file is no folder
    expect(statSync(file).size).toBe(0);
  });

  it('serves loads at once, here and in a worker, with one download', async () => {
    expect(await Promise.all([vectors(), vectors(), vectors({ worker: true })])).toEqual([expected, expected, expected]);
    expect(hub.weights().length).toBe(1);
    hub.requests = [];
    expect(await vectors()).toEqual(expected);
    expect(hub.weights()).toEqual([]);
    expect(locks()).toEqual([]);
  });

  it('goes on from an entry that was saved before its size was', async () => {
    await vectors();
    for (const path of folders()) {
      const { size: _size, ...entry } = JSON.parse(readFileSync(join(path, 'entry.json'), 'utf8'));
      writeFileSync(join(path, 'entry.json'), JSON.stringify(entry));
    }
    expect(await vectors({ worker: true })).toEqual(expected);
    expect(await cache.has(id, { cache_dir: folder })).toBe(true);
  });

  it('never shows an entry with a short piece and no size, whenever one looks', async () => {
    let looks = 0;
    let loading = true;
    const watching = (async () => {
      for (; loading; await turn()) {
        for (const path of folders()) {
          const text = existsSync(join(path, 'entry.json')) ? readFileSync(join(path, 'entry.json'), 'utf8') : '{}';
          const { pieces = [], size } = JSON.parse(text);
          if (size !== undefined || pieces.length === 0) continue;
          looks += 1;
          expect(statSync(join(path, String(pieces.length - 1))).size).toBe(kPiece);
        }
      }
    })();
    hub.between = () => until(() => looks > 0);
    expect(await vectors()).toEqual(expected);
    loading = false;
    await watching;
  });

  it('takes no lock that it holds for one that was left, however late it touches it', async () => {
    let second: Promise<number[]> | undefined;
    hub.between = async () => {
      if (second) return;
      const url = `${env.remoteHost}/${id}/resolve/main/model.safetensors`; // other files may have locks meanwhile
      const lock = join(folder, `${createHash('sha256').update(url).digest('hex').slice(0, 32)}.lock`);
      utimesSync(lock, kLongAgo, kLongAgo);
      second = vectors();
      await until(() => !existsSync(lock) || statSync(lock).mtime > kLongAgo);
      expect(existsSync(lock)).toBe(true);
    };
    expect(await vectors()).toEqual(expected);
    expect(await second).toEqual(expected);
    expect(hub.weights().length).toBe(1);
  });

  it('takes over from a process that ended in the middle, and from one whose machine did', async () => {
    await vectors();
    const lock = `${weightsFolder()}.lock`;
    const { pid } = spawnSync(process.execPath, ['--version']);
    for (const [holder, touched] of [
      [await lockOf(pid), new Date()],
      ['', kLongAgo],
    ] as const) {
      rmSync(weightsFolder(), { recursive: true });
      writeFileSync(lock, holder);
      utimesSync(lock, touched, touched);
      expect(await vectors()).toEqual(expected);
      expect(existsSync(lock)).toBe(false);
    }
  });

  it('waits for another process, no longer than its signal lets it, and then uses what that one brought', async () => {
    await vectors();
    const path = weightsFolder();
    renameSync(path, `${path}.away`);
    const other = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1e6)']);
    writeFileSync(`${path}.lock`, await lockOf(other.pid as number));
    hub.requests = [];
    let asked = 0; // whether the holder of the lock is alive
    const { kill } = process;
    process.kill = (...args) => (++asked, kill.apply(process, args));
    try {
      const controller = new AbortController();
      const given = vectors({ signal: controller.signal });
      await until(() => asked > 1);
      controller.abort();
      await expectError(given, 'AbortError');
      const seen = asked;
      const waiting = vectors();
      await until(() => asked > seen + 1);
      renameSync(`${path}.away`, path);
      rmSync(`${path}.lock`);
      expect(await waiting).toEqual(expected);
    } finally {
      process.kill = kill;
      other.kill();
    }
    expect(hub.weights()).toEqual([]);
  });

  it('lets go of a file when its load is given up, though the server never ends', async () => {
    let goOn = () => {};
    const gate = new Promise<void>((resolve) => (goOn = resolve));
    hub.between = () => gate;
    const controller = new AbortController();
    const given = vectors({ signal: controller.signal });
    await until(() => hub.weights().length > 0);
    expect(locks().length).toBeGreaterThan(0);
    controller.abort();
    await expectError(given, 'AbortError');
    await until(() => locks().length === 0); // of files that were just being opened
    hub.between = undefined;
    expect(await vectors()).toEqual(expected);
    goOn();
  });

  it('is repaired after a download killed at each tenth', async () => {
    const total = (hub.files.get('model.safetensors') as Uint8Array).length;
    for (let tenth = 1; tenth <= 10; ++tenth) {
      await cache.delete(id, { cache_dir: folder });
      hub.cut = Math.floor((tenth * total) / 10) - 1;
      await expectError(vectors(), 'NetworkError', /model\.safetensors: the connection broke after \d+ of \d+ bytes/);
      hub.cut = Infinity;
      hub.requests = [];
      expect(await vectors()).toEqual(expected);
      const kept = Math.floor(Math.floor((tenth * total) / 10 - 1) / kPiece) * kPiece;
      expect(hub.weights().map((line) => Number(/bytes=(\d+)/.exec(line)?.[1] ?? 0))).toEqual([kept]);
    }
  });

  it('asks again where the connection ended before any answer, and not for ever', async () => {
    hub.refusals = 2;
    expect(await vectors()).toEqual(expected);
    await cache.delete(id, { cache_dir: folder });
    hub.refusals = Infinity;
    hub.requests = [];
    await expectError(vectors(), 'NetworkError', /no response from/);
    expect(hub.weights().length).toBeLessThanOrEqual(4);
  });

  it('lists, and deletes', async () => {
    await vectors();
    const files = await cache.list(id, { cache_dir: folder });
    const weights = files.find(({ file }) => file === 'model.safetensors');
    expect(weights).toMatchObject({ model: id, bytes: hub.files.get('model.safetensors')?.length, complete: true });
    expect(files.some(({ file }) => file === 'sentence_xlnet_config.json')).toBe(false);
    expect(await cache.has('org/other', { cache_dir: folder })).toBe(false);
    expect(await cache.delete(id, { cache_dir: folder })).toBe(files.length);
    expect(await cache.list(undefined, { cache_dir: folder })).toEqual([]);
    expect(readdirSync(folder)).toEqual([]);
    expect(existsSync(folder)).toBe(true);
  });

  // A limit on the length of files fails in the middle of one, as a full disk does.
  (process.platform === 'win32' ? it.skip : it)('leaves nothing of what it could not write', () => {
    const program = `import { env, pipeline } from ${JSON.stringify(join(root, 'dist/node.js'))};
      env.remoteHost = ${JSON.stringify(env.remoteHost)};
      const embed = await pipeline('feature-extraction', ${JSON.stringify(id)}, { cache_dir: ${JSON.stringify(folder)} });
      const out = await embed(['the river', 'a boat']);
      console.log(JSON.stringify([...out.data]));
      await embed.dispose();`;
    return new Promise<void>((resolve, reject) => {
      const shell = spawn('sh', ['-c', 'ulimit -f 1000 && exec "$0" --input-type=module -e "$1"', process.execPath, program]);
      let said = '';
      shell.stdout.on('data', (data) => (said += data));
      shell.on('close', () => {
        try {
          expect(JSON.parse(said)).toEqual(expected);
          const left = folders().flatMap((path) => readdirSync(path));
          expect(left.filter((name) => !/^(url|entry\.json|\d+)$/.test(name))).toEqual([]);
          resolve();
        } catch (error) {
          reject(error);
        }
      });
    });
  });

  it('deletes what other processes left behind', async () => {
    await vectors();
    const path = weightsFolder();
    writeFileSync(join(path, '1.99999.left'), 'temporary');
    writeFileSync(join(path, 'entry.json'), 'unreadable');
    expect(await cache.delete(id, { cache_dir: folder })).toBeGreaterThan(0);
    expect(readdirSync(folder)).toEqual([]);
    mkdirSync(join(folder, 'f'.repeat(32)));
    writeFileSync(join(folder, 'f'.repeat(32), 'url.99999.left'), 'temporary');
    writeFileSync(join(folder, 'notes.txt'), 'not of the cache');
    const { pid } = spawnSync(process.execPath, ['--version']);
    writeFileSync(join(folder, `${'e'.repeat(32)}.lock`), await lockOf(pid));
    await cache.delete(undefined, { cache_dir: folder });
    expect(readdirSync(folder)).toEqual(['notes.txt']);
  });

  it('can be turned off', async () => {
    env.useCache = false;
    expect(await vectors()).toEqual(expected);
    expect(readdirSync(folder)).toEqual([]);
  });
});
