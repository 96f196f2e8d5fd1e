// Index: each file system call fails once, or is the last one before a power failure. Documents reported as stored remain.
import { everyCall, Faults, type Fault, type Loss } from './faults/faults.js';

const { cpSync, mkdtempSync, readdirSync, rmSync } = await import('node:fs');
const { tmpdir } = await import('node:os');
const { join } = await import('node:path');
const { Index, WattnError } = await import('wattn');

// WATTN_SCALE (npm run check:scale): every call; otherwise every 23rd, other ones for each of the 27 kinds of failure.
const kStep = process.env['WATTN_SCALE'] === undefined ? 23 : 1;
let turn = 0;
const someCalls = (run: (n: number) => Promise<boolean>) => everyCall(run, kStep, 1 + (turn++ % kStep));

let folder: string;
let made: string;
beforeAll(async () => {
  made = mkdtempSync(join(tmpdir(), 'wattn-faults-made-'));
  for (const [name, writes] of [
    ['few', 2],
    ['many', 7],
  ] as const) {
    const index = await Index.open(name, { store: made });
    for (let i = 0; i < writes; ++i) await index.add([0, 1].map((j) => ({ id: `${i}-${j}`, text: `text ${i} ${j}` })));
    await index.dispose();
  }
});
afterAll(() => rmSync(made, { recursive: true }));

/** What must be there after work that may have failed: id -> its text, or undefined if it must be gone. What was under way may be either. */
class Ledger {
  readonly stored = new Map<string, string | undefined>();
  readonly open = new Map<string, string | undefined>();

  async change(id: string, text: string | undefined, work: () => PromiseLike<unknown>): Promise<void> {
    this.open.set(id, text);
    await work();
    this.open.delete(id);
    this.stored.set(id, text);
  }

  async compare(name: string, what: string): Promise<void> {
    const index = await Index.open(name, { store: folder });
    const wrong: unknown[] = [];
    for (const [id, text] of this.stored) {
      const found = index.get(id)?.text;
      const mayBe = this.open.has(id) ? [text, this.open.get(id)] : [text];
      if (!mayBe.includes(found)) wrong.push({ id, text, found });
    }
    for (const id of index.ids()) if (!this.stored.has(id) && !this.open.has(id)) wrong.push({ id, text: 'nobody wrote it' });
    await index.dispose();
    expect([what, wrong]).toEqual([what, []]);
  }
}

interface Work {
  /** What is there before: a made index, or nothing. */
  from: string | undefined;
  run: (ledger: Ledger) => Promise<void>;
}

const add = (ledger: Ledger, index: Awaited<ReturnType<typeof Index.open>>, id: string, text: string) =>
  ledger.change(id, text, () => index.add({ id, text }));

const kWork: Record<string, Work> = {
  'begins an index': {
    from: undefined,
    async run(ledger) {
      const index = await Index.open('notes', { store: folder });
      await add(ledger, index, 'a', 'one');
      await add(ledger, index, 'b', 'two');
      await index.dispose();
    },
  },
  'changes and removes': {
    from: 'few',
    async run(ledger) {
      const index = await Index.open('notes', { store: folder });
      await add(ledger, index, '0-1', 'other');
      await ledger.change('1-0', undefined, () => index.delete('1-0'));
      await index.dispose();
    },
  },
  'makes one segment of several': {
    from: 'many',
    async run(ledger) {
      const index = await Index.open('notes', { store: folder });
      await add(ledger, index, 'x', 'the eighth write');
      await add(ledger, index, 'y', 'the ninth');
      await index.dispose();
    },
  },
};

/** A folder as it is before some work, and what it has. */
async function begin({ from }: Work): Promise<Ledger> {
  folder = mkdtempSync(join(tmpdir(), 'wattn-faults-'));
  const ledger = new Ledger();
  if (from === undefined) return ledger;
  cpSync(join(made, from), join(folder, 'notes'), { recursive: true });
  const index = await Index.open('notes', { store: folder });
  for (const id of index.ids()) ledger.stored.set(id, index.get(id)!.text);
  await index.dispose();
  return ledger;
}

/** Writing goes on after a failure, and leaves nothing of it. */
async function goesOn(ledger: Ledger, what: string): Promise<void> {
  await ledger.compare('notes', what);
  const index = await Index.open('notes', { store: folder });
  await add(ledger, index, 'later', 'after the failure');
  await index.dispose();
  await ledger.compare('notes', `${what}, later`);
  expect([what, readdirSync(join(folder, 'notes')).filter((file) => file.includes('.'))]).toEqual([what, []]);
  expect(await Index.check('notes', { store: folder })).toMatchObject({ sound: true, problems: [] });
}

const kFaults: Record<string, Fault> = {
  'fails once': { code: 'EIO' },
  'fails once, though it is done': { code: 'EIO', after: true },
  'finds a full disk': { code: 'ENOSPC', half: true, forever: true },
};

describe.each(Object.keys(kWork))('a program that %s', (what) => {
  const work = kWork[what]!;

  it.each(Object.keys(kFaults))('loses nothing where any call %s', async (kind) => {
    let most = 0;
    await someCalls(async (n) => {
      const ledger = await begin(work);
      const faults = new Faults(folder).failNth(n, kFaults[kind]!);
      const error: unknown = await work.run(ledger).then(
        () => undefined,
        (error: unknown) => error,
      );
      await faults.end();
      const where = `call ${n}: ${faults.calls[n - 1]}`;
      if (error !== undefined && !(error instanceof WattnError)) throw new Error(where, { cause: error });
      most = faults.calls.length;
      await goesOn(ledger, where);
      rmSync(folder, { recursive: true });
      return faults.reached;
    });
    expect(most).toBeGreaterThan(20);
  });

  it.each<Loss>(['nothing', 'empty', 'half', 7])('loses nothing when the power goes at any call, and leaves %s', async (loss) => {
    await someCalls(async (n) => {
      const ledger = await begin(work);
      const faults = new Faults(folder, { disk: true }).dieAt(n);
      await work.run(ledger).catch(() => {});
      await faults.powerLoss(loss);
      await goesOn(ledger, `${loss} after call ${n}: ${faults.calls[n - 1]}`);
      rmSync(folder, { recursive: true });
      return faults.reached;
    });
  });
});

describe('where a file system has no hard links', () => {
  it('writes all the same', async () => {
    const ledger = await begin(kWork['makes one segment of several']!);
    const faults = new Faults(folder);
    const before = faults['before' as never] as (call: { name: string; paths: string[] }) => unknown;
    Object.assign(faults, {
      before: (call: { name: string; paths: string[] }) => {
        if (call.name === 'link') throw Object.assign(new Error('EPERM'), { code: 'EPERM', syscall: 'link' });
        return before.call(faults, call);
      },
    });
    const [one, two] = await Promise.all(['one', 'two'].map(() => Index.open('notes', { store: folder })));
    await Promise.all(Array.from({ length: 12 }, (_, i) => add(ledger, i % 2 ? one! : two!, `n${i}`, `text ${i}`)));
    await Promise.all([one!.dispose(), two!.dispose()]);
    await faults.end();
    await goesOn(ledger, 'without links');
  });
});

describe('deleting and repairing', () => {
  it('end as if they had not begun, or can be done again, after any failure', async () => {
    for (const call of [Index.delete, Index.repair] as ((name: string, options: { store: string }) => Promise<unknown>)[]) {
      for (const end of ['error', 'nothing', 'half'] as const) {
        await someCalls(async (n) => {
          await begin(kWork['changes and removes']!);
          if (call === Index.repair) {
            const [segment] = readdirSync(join(folder, 'notes')).sort();
            rmSync(join(folder, 'notes', segment!)); // the first write is lost
          }
          const faults = new Faults(folder, { disk: end !== 'error' });
          if (end === 'error') faults.failNth(n);
          else faults.dieAt(n);
          await call('notes', { store: folder }).catch((error: unknown) => {
            if (end === 'error') expect(error).toBeInstanceOf(WattnError);
          });
          if (end === 'error') await faults.end();
          else await faults.powerLoss(end);
          await call('notes', { store: folder });
          const index = await Index.open('notes', { store: folder });
          expect([n, index.ids().sort()]).toEqual([n, call === Index.repair ? ['1-0', '1-1'] : []]);
          await index.add({ id: 'later', text: 'later' });
          await index.dispose();
          rmSync(folder, { recursive: true });
          return faults.reached;
        });
      }
    }
  });
});
