// The command line when --out fails at each of its calls. The file is the old or the new one, the error is one line, nothing half-written remains,
// and the next run succeeds.
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { cli } from './cli_support.js';
import { inChild, type ChildFaults } from './faults/child.js';
import { tiny } from './support.js';

const isLong = process.env['WATTN_SCALE'] !== undefined;
/** What happens at the n-th call; without WATTN_SCALE they take turns. */
const kHow: Record<string, (n: number) => Partial<ChildFaults>> = {
  'an error': (n) => ({ failNth: [n, { code: 'EIO' }] }),
  'a full disk': (n) => ({ failNth: [n, { code: 'ENOSPC', half: true, forever: true }] }),
  'a kill': (n) => ({ killAt: n }),
  'a loss of power': (n) => ({ losePowerAt: [n, 'nothing'] }),
  'a loss of power that leaves names': (n) => ({ losePowerAt: [n, 'zeros'] }),
};

const kState = 'trainer_state.safetensors';

let folder = '';
let out = '';
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'wattn-cli-'));
  out = join(folder, 'out');
  writeFileSync(join(folder, 'rows.csv'), 'text,label\nthe river,water\na boat,water\nsmall birds,sky\nthe wind,sky\n');
  mkdirSync(join(folder, 'docs'));
  writeFileSync(join(folder, 'docs', 'a.md'), '# One\n\nthe river');
});
afterEach(() => rmSync(folder, { recursive: true }));

const kCommands: Record<string, { args: () => string[]; file: string }> = {
  pack: { args: () => ['pack', '--model', tiny, '--dtype', 'q8', '--out', join(out, 'tiny.gguf')], file: 'tiny.gguf' },
  index: { args: () => ['index', join(folder, 'docs'), '--words', '--out', join(out, 'docs.index')], file: 'docs.index' },
  train: {
    args: () =>
      ['train', '--task', 'text-classification', '--model', tiny, '--threads', '1', '--data', join(folder, 'rows.csv'), '--out', out, '--max-steps', '2'], // prettier-ignore
    file: 'adapter_model.safetensors',
  },
};

describe.each(Object.keys(kCommands))('wattn %s', (name) => {
  const { args, file } = kCommands[name] as (typeof kCommands)[string];
  const run = (faults: Partial<ChildFaults> = {}) => inChild([cli, ...args()], { folder: out, ...faults });
  const files = () => Object.fromEntries(readdirSync(out).map((each) => [each, readFileSync(join(out, each), 'base64')]));
  /** What is there before: nothing for training, as it goes on from what is there. */
  const emptied = () => {
    rmSync(out, { recursive: true, force: true });
    mkdirSync(out);
  };

  it('writes all or nothing, whichever call fails', async () => {
    emptied();
    const first = await run();
    expect(first).toMatchObject({ code: 0, error: '' });
    const whole = files();
    expect(Object.keys(whole)).toContain(file);
    const ways = Object.keys(kHow);
    const last = first.calls.length + 1; // after the last call
    const some = [0.1, 0.3, 0.5, 0.7, 0.9].map((part) => Math.ceil(part * last));
    const pairs = isLong
      ? Array.from({ length: last }, (_, i) => ways.map((way) => [i + 1, way] as const)).flat()
      : [...some.map((n, i) => [n, ways[i % ways.length] as string] as const), ...ways.slice(-2).flatMap((way) => [[last - 1, way], [last, way]] as const)]; // prettier-ignore
    for (const [n, way] of pairs) {
      emptied();
      const { code, signal, error, calls } = await run(kHow[way]?.(n));
      const about = [way, n, calls[n - 1]];
      const left = files();
      for (const [each, bytes] of Object.entries(left)) {
        if (each in whole) expect([...about, each, bytes === whole[each]]).toEqual([...about, each, true]);
        else if (signal === null && each !== kState) expect([...about, each]).toEqual([...about]); // a temporary file
      }
      if (signal === null && code !== 0) expect([...about, error]).toEqual([...about, expect.stringMatching(/^wattn: [^\n]+\n$/)]);
      if (code === 0) expect([...about, Object.keys(left)]).toEqual([...about, Object.keys(whole)]);
      rmSync(join(out, kState), { force: true }); // of a run that did not end
      if (!isLong && n !== last) continue;
      expect([...about, await run()]).toEqual([...about, expect.objectContaining({ code: 0, error: '' })]);
      expect([...about, Object.entries(files()).filter(([each]) => each in whole)]).toEqual([...about, Object.entries(whole)]);
    }
  });
});
