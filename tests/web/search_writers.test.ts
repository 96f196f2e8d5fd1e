// Index: many processes add to one index in one folder, and are killed meanwhile. Everything reported as stored is there at the end, and the index
// can be opened at any time.
import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { Index } from 'wattn';
import { root } from './support.js';

// WATTN_SCALE (npm run check:scale): as often and as much as it takes to be sure. WATTN_SEED: the moments of a run that failed.
const isLong = process.env['WATTN_SCALE'] !== undefined;
const kRounds = isLong ? 100 : 1;
const kWriters = 8;
const kFewer = isLong ? 8 : 3; // where locks are waited for
const kSeed = Number(process.env['WATTN_SEED'] ?? Date.now() % 1_000_000);
/** Some writer goes on within this time, though a machine is busy: nobody waits long for a lock whose holder is gone. */
const kPatienceMs = isLong ? 120_000 : 30_000;

const kProgram = `
const { Index } = await import(${JSON.stringify(join(root, 'dist/node.js'))});
const embed = async (texts) => texts.map((text) => Float32Array.from({ length: 32 }, (_, i) => Math.sin(i * text.length + i + 1)));
const [folder, name, size, limit] = process.argv.slice(-4);
const index = await Index.open('shared', { embed, store: folder });
for (let i = 0; i < Number(limit); ++i) {
  const documents = Array.from({ length: Number(size) }, (_, j) => ({ id: name + '-' + i + '-' + j, text: 'text ' + j + ' of write ' + i + ' by ' + name }));
  await index.add(documents);
  process.stdout.write(i + '\\n');
}
await index.dispose();`;

interface Writing {
  name: string;
  /** Documents in each write. */
  size?: number;
  /** Killed after it reported so many writes and a moment, unless it ends before that. */
  writes?: number;
  moment?: number;
  /** Ends after so many writes. */
  limit?: number;
  /** What starts the program: in a namespace of its own, it is that. */
  under?: string[];
}

interface Written {
  name: string;
  size: number;
  /** Writes that it reported. */
  reported: number;
}

/** When any writer last began or reported a write. */
let wentOn = 0;
const running = new Map<ChildProcess, Promise<unknown>>();

/** Adds to the index in a process of its own. */
function write(folder: string, writing: Writing): Promise<Written> {
  const { name, size = 1, writes = Infinity, moment = 0, limit = Infinity, under = [] } = writing;
  const program = [process.execPath, '--input-type=module', '-e', kProgram, '--', folder, name, String(size), String(limit)];
  const [command, ...args] = [...under, ...program] as [string, ...string[]];
  const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'pipe'], env: { ...process.env, NODE_NO_WARNINGS: '1' } });
  running.set(child, once(child, 'close'));
  let [reported, said] = [0, ''];
  const kill = () => child.kill('SIGKILL');
  wentOn = performance.now();
  const watching = setInterval(() => {
    if (performance.now() - wentOn < kPatienceMs) return;
    said += `no writer went on for ${kPatienceMs} ms\n`;
    kill();
  }, 200);
  child.stderr.setEncoding('utf8').on('data', (text) => (said += text));
  createInterface({ input: child.stdout }).on('line', (line) => {
    wentOn = performance.now();
    if (Number(line) !== reported++) said += `it reported ${line} out of turn\n`;
    if (reported === writes) setTimeout(kill, moment); // any moment is right
  });
  return new Promise((resolve, reject) => {
    child.on('error', reject);
    child.on('close', (code, signal) => {
      clearInterval(watching);
      running.delete(child);
      if (code === 0 || (signal === 'SIGKILL' && reported >= writes)) return resolve({ name, size, reported });
      reject(new Error(`seed ${kSeed}: ${name} ended by itself after ${reported} writes (${code ?? signal}): ${said}`));
    });
  });
}

class Random {
  private state = kSeed;
  below(limit: number): number {
    this.state = (Math.imul(this.state, 1103515245) + 12345) >>> 0;
    return Math.floor(((this.state >>> 4) / 2 ** 28) * limit);
  }
}

/** All that was reported is there, unchanged; of the rest only what a writer was just writing, whole. */
async function expectAll(folder: string, all: readonly Written[]): Promise<void> {
  const index = await Index.open('shared', { store: folder });
  const lost: string[] = [];
  const known = new Set<string>();
  for (const { name, size, reported } of all) {
    for (let i = 0; i <= reported; ++i) {
      let found = 0;
      for (let j = 0; j < size; ++j) {
        const id = `${name}-${i}-${j}`;
        known.add(id);
        if (index.get(id)?.text === `text ${j} of write ${i} by ${name}`) ++found;
        else if (i < reported) lost.push(id);
      }
      if (i === reported && found !== 0 && found !== size) lost.push(`${found} of ${size} of ${name}-${i}`);
    }
  }
  const foreign = [...index.ids()].filter((id) => !known.has(id));
  await index.dispose();
  expect({ seed: kSeed, lost, foreign }).toEqual({ seed: kSeed, lost: [], foreign: [] });
}

describe('many writers', () => {
  let folder = '';
  let all: Written[] = [];
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'wattn-writers-'));
    all = [];
  });
  afterEach(async () => {
    const ends = [...running.values()];
    for (const child of running.keys()) child.kill('SIGKILL'); // where one failed, the others go on
    await Promise.all(ends);
    rmSync(folder, { recursive: true, maxRetries: 5 });
  });

  /** A writer that is killed and started again, twice in each round. */
  async function twice(random: Random, name: string, under: string[] = []): Promise<void> {
    for (const life of ['a', 'b']) {
      const writing = {
        name: `${name}${life}`,
        size: 1 + random.below(3),
        writes: 1 + random.below(4),
        moment: random.below(40),
        under,
      };
      all.push(await write(folder, writing));
    }
  }

  it(`lose nothing when ${kWriters} of them are killed at random moments, ${kRounds} times`, async () => {
    const random = new Random();
    for (let round = 0; round < kRounds; ++round) {
      await Promise.all(Array.from({ length: kWriters }, (_, i) => twice(random, `r${round}w${i}`)));
      await expectAll(folder, all);
    }
    expect(all.length).toBe(2 * kWriters * kRounds);
  });

  const { pid: dead } = spawnSync(process.execPath, ['--version']);
  const kLocks: Record<string, string> = {
    'of a dead process': String(dead),
    'that is empty': '',
    'of a foreign kind': 'held by nobody\n',
  };
  it.each(Object.keys(kLocks))('lose nothing around a lock file %s, and do not wait for it', async (kind) => {
    for (let round = 0; round < Math.ceil(kRounds / 4); ++round) {
      mkdirSync(join(folder, 'shared'), { recursive: true });
      writeFileSync(join(folder, 'shared', 'writer.lock'), kLocks[kind] as string);
      const writing = Array.from({ length: kFewer }, (_, i) => write(folder, { name: `r${round}w${i}`, limit: 1 }));
      all.push(...(await Promise.all(writing)));
      await expectAll(folder, all);
    }
  });

  it('leave no files of dead writers', async () => {
    await Promise.all(Array.from({ length: kFewer }, (_, i) => twice(new Random(), `w${i}`)));
    all.push(await write(folder, { name: 'last', limit: 10 })); // so many that segments are merged
    const names = readdirSync(join(folder, 'shared'));
    const empty = names.filter((name) => statSync(join(folder, 'shared', name)).size === 0);
    const temporary = names.filter((name) => name.includes('.') && !name.endsWith('.lock')); // segments have no dot in their names
    expect({ empty, temporary }).toEqual({ empty: [], temporary: [] });
    await expectAll(folder, all);
  });

  // In a namespace of its own, each writer is process 1, and sees none of the others.
  const kNamespace = ['unshare', '--pid', '--fork', '--mount-proc', '--kill-child'];
  const allowed = spawnSync(kNamespace[0] as string, [...kNamespace.slice(1), 'true']).status === 0;
  const why = allowed ? '' : ' (skipped: this machine does not allow `unshare --pid`)';
  (allowed ? it : it.skip)(`lose nothing in pid namespaces of their own${why}`, async () => {
    const random = new Random();
    for (let round = 0; round < Math.ceil(kRounds / 2); ++round) {
      await Promise.all(Array.from({ length: isLong ? 4 : 2 }, (_, i) => twice(random, `r${round}w${i}`, kNamespace)));
      await expectAll(folder, all);
    }
    // Two containers that are not killed: 20,000 documents, 100 a write.
    const limit = isLong ? 100 : 3;
    const writing = ['left', 'right'].map((name) => write(folder, { name, size: 100, limit, under: kNamespace }));
    all.push(...(await Promise.all(writing)));
    await expectAll(folder, all);
    expect(all.at(-1)?.reported).toBe(limit);
  });
});
