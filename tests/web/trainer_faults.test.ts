// Trainer and adapters in a folder: each file system call during loading fails once. The result is a typed error or the whole model, and the next
// load works.
import type { Fault } from './faults/faults.js';
const { Faults, everyCall } = await import('./faults/faults.js'); // before all that imports node:fs
const { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } = await import('node:fs');
const { tmpdir } = await import('node:os');
const { join } = await import('node:path');
const { pipeline, WattnError } = await import('wattn');
const { Trainer } = await import('wattn/train');
const { tiny } = await import('./support.js');

// WATTN_SCALE: every call; otherwise every 11th, other ones for each fault.
const kStep = process.env['WATTN_SCALE'] === undefined ? 11 : 1;
const kFaults: [string, Fault][] = [
  ['fails', { code: 'EIO' }],
  ['fails from then on', { code: 'EACCES', forever: true }],
  ['finds no free descriptor', { code: 'EMFILE' }],
];
const kRows = [
  { text: 'the river', label: 'water' },
  { text: 'small birds sing', label: 'sky' },
];

describe('a model and its adapter in a folder', () => {
  let folder: string;
  let expected: number[];
  const read = async () => {
    const trainer = await Trainer.from_pretrained(join(folder, 'model'), {
      task: 'text-classification',
      threads: 1,
      r: 2,
      max_steps: 1,
    });
    await trainer.dispose();
    const embed = await pipeline('feature-extraction', join(folder, 'model'), { adapter: join(folder, 'adapter'), threads: 1 });
    const { data } = await embed('the old boat', { pooling: 'mean' });
    await embed.dispose();
    return [...data];
  };

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'wattn-trainer-'));
    cpSync(tiny, join(folder, 'model'), { recursive: true });
    mkdirSync(join(folder, 'adapter'));
    const trainer = await Trainer.from_pretrained(tiny, {
      task: 'text-classification',
      threads: 1,
      r: 2,
      max_steps: 1,
      learning_rate: 0.1,
    });
    await trainer.fit(kRows);
    for (const [name, bytes] of Object.entries(await trainer.save())) writeFileSync(join(folder, 'adapter', name), bytes);
    await trainer.dispose();
    expected = await read();
  });
  afterAll(() => rmSync(folder, { recursive: true }));

  it.each(kFaults)('loads whole or ends with a typed error where any call %s', async (what, fault) => {
    let failed = 0;
    const count = await everyCall(
      async (n) => {
        const faults = new Faults(folder).failNth(n, fault);
        const said = await read().catch((error: unknown) => error);
        await faults.end();
        if (said instanceof Error) expect([n, faults.calls[n - 1], said]).toEqual([n, faults.calls[n - 1], expect.any(WattnError)]);
        else expect([n, said]).toEqual([n, expected]);
        failed += Number(said instanceof Error);
        return faults.reached;
      },
      kStep,
      1 + kFaults.findIndex(([name]) => name === what),
    );
    expect(count).toBeGreaterThan(10);
    expect(failed).toBeGreaterThan(0);
    expect(await read()).toEqual(expected);
  });
});
