// The cache and the network below it fail at each of their calls. A load gives the right embeddings or a typed error and leaves nothing
// half-written; the next load repairs it.
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Fault, Loss } from './faults/faults.js';
const { Faults, everyCall } = await import('./faults/faults.js'); // before all that imports node:fs
const { inChild } = await import('./faults/child.js');
const { readdirSync, rmSync } = await import('node:fs');
const { join } = await import('node:path');
const { AutoTokenizer, cache, env, pipeline, WattnError } = await import('wattn');
const { hubAndCache, id, RangeHub } = await import('./range_hub.js');
const { root, tinyFiles, tiny } = await import('./support.js');

const isLong = process.env['WATTN_SCALE'] !== undefined;
const kStep = isLong ? 1 : 8; // of the calls; there are 5 faults and 7 losses, which take turns
const kFaults: Fault[] = [
  { code: 'EIO' },
  { code: 'ENOSPC', half: true },
  { code: 'EACCES', forever: true },
  { after: true },
  { code: 'EMFILE' },
];
const kLosses: Loss[] = ['nothing', 'empty', 'zeros', 'half', 1, 2, 3];

describe('the cache', () => {
  const own = hubAndCache(() => tinyFiles());
  let folder = '';
  let hub: InstanceType<typeof RangeHub>;
  let expected: number[] = [];

  /** An answer of the model; a tokenizer's takes a quarter of the calls. */
  const answer = async (model = id, options = {}): Promise<number[]> => {
    if (!isLong) {
      const tokenizer = await AutoTokenizer.from_pretrained(model, options);
      return tokenizer.encode('the river');
    }
    const embed = await pipeline('feature-extraction', model, options);
    const out = await embed(['the river', 'a boat']);
    await embed.dispose();
    return [...out.data];
  };
  const load = (options = {}) => answer(id, { cache_dir: folder, ...options });
  /** Whether the cache says that it needs no network. */
  const has = async () => {
    const files = await cache.list(id, { cache_dir: folder });
    return files.length >= (isLong ? 8 : 3) && files.every(({ complete }) => complete);
  };
  const emptied = () => {
    for (const name of readdirSync(folder)) rmSync(join(folder, name), { recursive: true });
  };
  /** What is there beside whole parts. Locks that could not be removed are seen to be stale by those who want them. */
  const left = () => readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((path) => !/^\w{32}(\.lock|\/(url|entry\.json|\d+))?$/.test(path)); // prettier-ignore

  /** Without faults: it is repaired, leaves nothing of what failed, and then needs no network. */
  async function expectWhole(): Promise<void> {
    expect(await load()).toEqual(expected);
    expect(left()).toEqual([]);
    expect(await has()).toBe(true);
    expect(await load({ local_files_only: true })).toEqual(expected);
  }

  beforeAll(async () => {
    expected = await answer(tiny);
  });
  beforeEach(() => ({ hub, folder } = own));

  describe.each([
    ['is empty', emptied],
    ['has the model', () => {}],
  ])('that %s', (_, prepare) => {
    it.each(isLong ? [...kFaults.keys()] : [0])('is no obstacle whichever call fails', async (first) => {
      await load();
      await everyCall(async (n) => {
        prepare();
        const faults = new Faults(folder).failNth(n, kFaults[(n + first) % kFaults.length]);
        const data = await load();
        await faults.end();
        expect([n, faults.calls[n - 1], data]).toEqual([n, faults.calls[n - 1], expected]);
        expect([n, faults.calls[n - 1], left()]).toEqual([n, faults.calls[n - 1], []]);
        await expectWhole();
        return faults.reached;
      }, kStep);
    });
  });

  it.each(isLong ? [...kLosses.keys()] : [0])('is right or repaired when the power is lost at any call', async (first) => {
    await everyCall(async (n) => {
      emptied();
      const faults = new Faults(folder, { disk: true }).dieAt(n);
      await load().catch(() => {});
      const loss = kLosses[(n + first) % kLosses.length] as Loss;
      await faults.powerLoss(loss);
      for (const name of readdirSync(folder)) if (name.endsWith('.lock')) rmSync(join(folder, name)); // this process goes on
      const saysSo = await has();
      const error = await load({ local_files_only: true }).catch((error) => error);
      if (error instanceof Error) expect([n, loss, error]).toEqual([n, loss, expect.any(WattnError)]);
      else expect([n, loss, error]).toEqual([n, loss, expected]);
      if (saysSo) expect([n, loss, error]).toEqual([n, loss, expected]);
      await expectWhole();
      return faults.reached;
    }, kStep);
  });

  it.each(kLosses)('has a model that was loaded before the power was lost: %s', async (loss) => {
    const faults = new Faults(folder, { disk: true });
    await load();
    faults.dieAt(faults.calls.length + 1);
    await faults.powerLoss(loss);
    expect(await has()).toBe(true);
    expect(await load({ local_files_only: true })).toEqual(expected);
  });

  it('is repaired after a process is killed at a call', async () => {
    const program = `
      import { AutoTokenizer, env, pipeline } from ${JSON.stringify(join(root, 'dist/node.js'))};
      env.remoteHost = ${JSON.stringify(env.remoteHost)};
      const options = { cache_dir: ${JSON.stringify(folder)} };
      await ${isLong ? "pipeline('feature-extraction'," : 'AutoTokenizer.from_pretrained('} ${JSON.stringify(id)}, options);`;
    for (let n = 2, reached = true; reached; n += isLong ? 1 : 31) {
      emptied();
      const { signal, error } = await inChild(['--input-type=module', '-e', program], { folder, killAt: n });
      expect(error).toBe('');
      reached = signal === 'SIGKILL';
      await expectWhole();
    }
  });

  describe('on a network', () => {
    const { setTimeout: own } = globalThis;
    beforeEach(() => {
      env.useCache = true;
      // Waits between tries are short here.
      globalThis.setTimeout = ((run: () => void, ms = 0, ...args: []) => own(run, ms <= 2500 ? 5 : ms, ...args)) as typeof own;
    });
    afterEach(() => {
      globalThis.setTimeout = own;
    });

    /** Connections end at the n-th request: before an answer or in the middle of it; once, or from then on. */
    function cutAt(n: number, middle: boolean, forever: boolean): () => number {
      const answer = hub.answer.bind(hub);
      let asked = 0;
      hub.answer = (request: IncomingMessage, response: ServerResponse) => {
        if (++asked !== n && !(forever && asked > n)) return answer(request, response);
        if (!middle) return (request.socket.destroy(), true);
        const { write, end } = response;
        const cut = (data: Uint8Array | string | undefined) => {
          const bytes = Buffer.from(data ?? '');
          write.call(response, bytes.subarray(0, bytes.length >> 1), 'utf8', () => response.destroy());
          return response;
        };
        response.end = cut as typeof end;
        return answer(request, response);
      };
      return () => {
        hub.answer = answer;
        return asked;
      };
    }

    it.each([
      ['before its answer', false],
      ['in the middle of its answer', true],
    ])('loads where a connection ends %s once, and ends with a typed error where all do', async (_, middle) => {
      for (const forever of [false, true]) {
        for (let n = 1, asked = n; asked >= n; ++n) {
          emptied();
          const end = cutAt(n, middle, forever);
          const said = await load({ timeout: 0 }).catch((error) => error);
          asked = end();
          if (said instanceof Error) expect([n, forever, said]).toEqual([n, true, expect.any(WattnError)]);
          else expect([n, said]).toEqual([n, expected]);
          expect([n, left()]).toEqual([n, []]);
          await expectWhole();
        }
      }
    });
  });
});
