// The failing platform that other tests use (faults/): it fails the right calls, and loses unsynced data.
import { tmpdir } from 'node:os';
import { join } from 'node:path';
const { Faults, everyCall } = await import('./faults/faults.js');
const { inChild } = await import('./faults/child.js');
const fs = await import('node:fs');
const { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } = fs;
const promises = await import('node:fs/promises');
type Loss = Parameters<InstanceType<typeof Faults>['powerLoss']>[0];

let folder = '';
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'wattn-faults-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

/** Each way to write a file. */
const kWays: Record<string, (path: string, text: string) => unknown> = {
  'a promise': (path, text) => promises.writeFile(path, text),
  'a handle': async (path, text) => {
    const handle = await promises.open(path, 'w');
    try {
      await handle.writeFile(text);
      await handle.sync();
    } finally {
      await handle.close();
    }
  },
  'parts through a handle': async (path, text) => {
    const handle = await promises.open(path, 'w');
    try {
      await handle.write(Buffer.from(`..${text}`), 2, text.length, 0);
      await handle.write('', 0);
      await handle.writev([Buffer.from(text)], 0);
    } finally {
      await handle.close();
    }
  },
  'calls that wait': (path, text) => {
    const fd = fs.openSync(path, 'w');
    try {
      fs.writeSync(fd, text);
    } finally {
      fs.closeSync(fd);
    }
  },
  'one call that waits': (path, text) => fs.writeFileSync(path, text),
  'a stream': (path, text) =>
    new Promise<void>((resolve, reject) => fs.createWriteStream(path).on('error', reject).on('close', resolve).end(text)),
};

describe.each(Object.keys(kWays))('a file written by %s', (way) => {
  const write = async (path: string) => (kWays[way] as any)(path, 'some text');

  it.each([{ code: 'ENOSPC' }, { code: 'ENOSPC', half: true }, { code: 'EIO', after: true }])(
    'fails at each of its calls with %j',
    async (fault) => {
      const seen: string[] = [];
      const count = await everyCall(async (n) => {
        const path = join(folder, String(n));
        const faults = new Faults(folder).failNth(n, fault);
        const error = await write(path).catch((error: unknown) => error);
        await faults.end();
        if (faults.reached) expect(error).toMatchObject({ code: fault.code });
        else expect(error).toBeUndefined();
        seen.push((faults.calls[n - 1] ?? '').replace(/ .*/, ''));
        const text = fs.existsSync(path) ? readFileSync(path, 'utf8') : undefined;
        if (!faults.reached) expect(text).toBe('some text');
        else if (/^write/.test(seen.at(-1) as string) && !seen.slice(0, -1).some((call) => /^write/.test(call)))
          expect(text ?? '').toBe(fault.after ? 'some text' : fault.half ? 'some' : '');
        return faults.reached;
      });
      expect(seen.slice(0, count)).toContain(/one call|promise/.test(way) ? 'writeFile' : 'close');
    },
  );

  it('does not know of other folders', async () => {
    const faults = new Faults(join(folder, 'other')).failNth(1);
    await write(join(folder, 'file'));
    await faults.end();
    expect(faults.calls).toEqual([]);
  });
});

it('fails all that needs space once the disk is full, and lets the rest pass', async () => {
  const faults = new Faults(folder).failNth(1, { code: 'ENOSPC', forever: true });
  for (let i = 0; i < 2; ++i) await expect(promises.writeFile(join(folder, 'a'), 'a')).rejects.toMatchObject({ code: 'ENOSPC' });
  expect(await promises.readdir(folder)).toEqual([]);
  await faults.end();
});

/** What is in the folder after writing and then losing power. */
async function left(run: () => Promise<void>, loss: Loss): Promise<Record<string, string>> {
  const faults = new Faults(folder, { disk: true });
  await run();
  faults.dieAt(faults.calls.length + 1);
  await expect(promises.readdir(folder)).rejects.toMatchObject({ code: 'EIO' });
  await faults.powerLoss(loss);
  return Object.fromEntries(readdirSync(folder).map((name) => [name, readFileSync(join(folder, name), 'utf8')]));
}

const at = (name: string) => join(folder, name);
async function synced(name: string, flags = 'r'): Promise<void> {
  const handle = await promises.open(at(name), flags);
  await handle.sync();
  await handle.close();
}

describe('a loss of power', () => {
  const replace = async () => {
    await promises.writeFile(at('new'), 'changed');
    await promises.rename(at('new'), at('old'));
  };
  beforeEach(() => writeFileSync(at('old'), 'before'));

  it.each([
    ['nothing', { old: 'before' }],
    ['empty', { old: '' }],
    ['zeros', { old: '\0\0\0\0\0\0\0' }],
    ['half', { old: 'cha' }],
  ] as const)('takes what was not synced: %s', async (loss, expected) => {
    expect(await left(replace, loss)).toEqual(expected);
  });

  it.each(['nothing', 'empty', 'zeros', 'half', 1, 2, 3] as const)('takes nothing of what was synced: %s', async (loss) => {
    const whole = async () => {
      await promises.writeFile(at('new'), 'changed');
      await synced('new');
      await promises.rename(at('new'), at('old'));
      await synced('');
      await promises.appendFile(at('old'), ' again');
    };
    const found = await left(whole, loss);
    expect(Object.keys(found)).toEqual(['old']);
    expect(found['old']).toMatch(/^changed/);
  });

  it('takes a name whose folder was not synced, and brings back what was removed', async () => {
    const found = await left(async () => {
      await promises.writeFile(at('new'), 'changed');
      await synced('new');
      await promises.unlink(at('old'));
    }, 'nothing');
    expect(found).toEqual({ old: 'before' });
  });

  it('leaves changes of names in their order, and different states by seed', async () => {
    const seen = new Set<string>();
    for (let seed = 0; seed < 20; ++seed) {
      for (const name of readdirSync(folder)) rmSync(at(name), { recursive: true });
      writeFileSync(at('old'), 'before');
      const found = await left(async () => {
        for (const name of ['a', 'b', 'c']) {
          await promises.mkdir(at(`in ${name}`)).then(() => promises.rmdir(at(`in ${name}`)));
          await promises.writeFile(at(name), name);
          await synced(name);
        }
      }, seed).catch((error) => ({ folders: String(error.code) }));
      seen.add(JSON.stringify(found));
      const names = Object.keys(found).filter((name) => /^[abc]$/.test(name));
      expect(['', 'a', 'ab', 'abc']).toContain(names.join(''));
    }
    expect(seen.size).toBeGreaterThan(3);
  });
});

describe('a process of its own', () => {
  const program = () => `
    import { open, rename } from 'node:fs/promises';
    const place = ${JSON.stringify(at('file'))};
    for (let i = 0; i < 2; ++i) {
      const file = await open(place + '.part', 'w');
      await file.writeFile('text ' + i);
      if (process.argv.includes('sync')) await file.sync();
      await file.close();
      await rename(place + '.part', place);
      process.stdout.write('written ' + i + '\\n');
    }`;
  const run = (faults: object, ...args: string[]) =>
    inChild(['--input-type=module', '-e', program(), '--', ...args], { folder, ...faults });

  it('fails, is killed and loses power at the call that is asked for', async () => {
    const whole = await run({});
    expect(whole).toMatchObject({ code: 0, out: 'written 0\nwritten 1\n', error: '' });
    expect(whole.calls.map((line) => line.replace(/ .*/, ''))).toEqual([
      'open', 'writeFile', 'close', 'rename', 'open', 'writeFile', 'close', 'rename',
    ]); // prettier-ignore
    expect(await run({ failNth: [2, { code: 'ENOSPC' }] })).toMatchObject({
      code: 1,
      out: '',
      error: expect.stringContaining('ENOSPC'),
    });
    expect(await run({ killAt: 7 })).toMatchObject({ signal: 'SIGKILL', out: 'written 0\n' });
    expect([readFileSync(at('file'), 'utf8'), readFileSync(at('file.part'), 'utf8')]).toEqual(['text 0', 'text 1']);
    rmSync(at('file.part'));
    writeFileSync(at('file'), 'before');
    expect(await run({ losePowerAt: [5, 'zeros'] })).toMatchObject({ signal: 'SIGKILL', out: 'written 0\n' });
    expect(readFileSync(at('file'), 'utf8')).toBe('\0'.repeat(6));
    writeFileSync(at('file'), 'before');
    await run({ losePowerAt: [6, 'zeros'] }, 'sync');
    expect(readFileSync(at('file'), 'utf8')).toBe('text 0');
    writeFileSync(at('file'), 'before');
    await run({ losePowerAt: [6, 'nothing'] }, 'sync');
    expect(readFileSync(at('file'), 'utf8')).toBe('before'); // its folder was not synced
    expect(readdirSync(folder)).toEqual(['file']);
  });
});
