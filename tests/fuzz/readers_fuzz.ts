// Damages files of every format that TypeScript reads, and reads them. Each must give a result or a typed error, quickly and in little memory.
// Failures are written to build/fuzz/found; tests/web/readers.test.ts keeps one example of each kind. `npm run fuzz -- SECONDS readers_fuzz
// [TARGET]`.
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { damaged, Random, type Files } from './readers/mutator.js';
import { engine } from './readers/engine.js';
import { plain } from './readers/plain.js';
import type { Target } from './readers/target.js';
import { Watch } from './readers/watch.js';

/**
 * What a file may take for each MB that it has begun; repeated parts make some of 16 MB. Time is that of the processor: other programs may keep it busy. A file that
 * takes more is read once more, as the collection of garbage that others have left counts, too.
 */
const kMostCpuMs = 3000;
const kMostBytes = 400 << 20;
const kPatienceMs = 120_000;
const kCodes = ['model_format', 'unsupported', 'input', 'out_of_memory', 'state', 'abort', 'network'];

/** Why an error is not what a reader may end with; undefined: it is. */
function fault(error: unknown): string | undefined {
  const { code, message, stack } = (error ?? {}) as { code?: unknown; message?: string; stack?: string };
  if (!(error instanceof Error) || !kCodes.includes(String(code))) return `an untyped error: ${stack ?? String(error)}`;
  if (/failed inside WebAssembly|unknown error code/.test(message ?? '')) return `a crash: ${message}`;
  return undefined;
}

/** Reads files. Gives what is wrong with the end of it, and whether that is what it took. */
async function outcome(target: Target, files: Files): Promise<{ wrong?: string | undefined; isValid: boolean; tookMuch: boolean }> {
  const bytesOf = ({ heapUsed, external, arrayBuffers }: NodeJS.MemoryUsage) => heapUsed + Math.max(external, arrayBuffers);
  const before = bytesOf(process.memoryUsage());
  const { user, system } = process.cpuUsage();
  let wrong: string | undefined;
  let isValid = false;
  try {
    await target.read(files);
    isValid = true;
  } catch (error) {
    wrong = fault(error);
  }
  const used = process.cpuUsage();
  const ms = (used.user - user + used.system - system) / 1000;
  const grown = bytesOf(process.memoryUsage()) - before;
  const parts = Math.ceil([...files.values()].reduce((sum, { length }) => sum + length, 1) / 1e6);
  const [isSlow, isLarge] = [ms > parts * kMostCpuMs, grown > parts * kMostBytes];
  const tookMuch = wrong === undefined && (isSlow || isLarge);
  if (isSlow) wrong ??= `${ms.toFixed(0)} ms of the processor`;
  if (isLarge) wrong ??= `${grown} bytes of memory`;
  return { wrong, isValid, tookMuch };
}

function keep(name: string, round: string, files: Files): string {
  const folder = join('build/fuzz/found', name.replace(/\W+/g, '_'), round);
  for (const [file, bytes] of files) {
    mkdirSync(dirname(join(folder, file)), { recursive: true });
    writeFileSync(join(folder, file), bytes);
  }
  return folder;
}

/** Reads damaged files while `goOn(rounds)`. names: which targets. collect: goes on after what it finds, and throws at the end. */
export async function fuzz(
  seed: number,
  goOn: (rounds: number) => boolean,
  names = process.argv[4] ?? '',
  collect = process.env['WATTN_FUZZ_ALL'] !== undefined,
): Promise<{ rounds: number; valid: number }> {
  const targets = [...plain, ...(await engine())].filter(({ name }) => name.includes(names));
  const turns = targets.flatMap((target) => Array.from({ length: target.weight ?? 10 }, () => target));
  const watch = new Watch(kPatienceMs);
  const found = new Map<string, string>();
  let [rounds, valid] = [0, 0];
  for (; goOn(rounds); ++rounds) {
    const random = new Random(Math.imul(seed, 7919) + rounds);
    const target = random.pick(turns);
    const files = random.pick(target.seeds);
    const input = target.damage ? await target.damage(files, random) : damaged(files, random, target.only);
    watch.begins(`${target.name}, seed ${seed}, round ${rounds}`);
    const first = await outcome(target, input);
    const { wrong, isValid } = first.tookMuch ? await outcome(target, input) : first;
    valid += Number(isValid);
    if (wrong === undefined) continue;
    const text = `${target.name}, seed ${seed}, round ${rounds}: ${wrong}\nkept in ${keep(target.name, `${seed}-${rounds}`, input)}`;
    if (!collect) throw new Error(text);
    const kind = `${target.name} ${wrong.replace(/\d+/g, '0').split('\n').slice(0, 3).join(' ')}`;
    if (!found.has(kind)) console.error(text, '\n');
    found.set(kind, text);
  }
  await watch.end();
  if (found.size > 0) throw new Error(`${found.size} kinds of wrong ends, see above`);
  return { rounds, valid };
}
