// A corpus split over many processes with existing engines (docs/scale.md): the output is byte-identical to one process, also if one of them dies.
import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { cli, wattn } from './cli_support.js';
import { root } from './support.js';

const isOnPath = (program: string) =>
  (process.env['PATH'] ?? '').split(delimiter).some((place) => existsSync(join(place, program)));
const hasParallel = /GNU parallel/.test(spawnSync('parallel', ['--version'], { encoding: 'utf8' }).stdout ?? '');
const hasSpark = isOnPath('spark-submit') && isOnPath('java');
const unless = (there: boolean, what: string) => (there ? '' : ` (skipped: no ${what} on PATH)`);

// What a line reader may get wrong: other ends of lines, JSON, empty lines, no end at the end.
const kHard = 'caf\u00e9 \u2028 here\rand there\n{"id": 7, "text": "x"}\n\n\r\n\u0085 last, without an end';

describe('wattn embed over many processes', () => {
  let folder: string;
  let texts: string;
  let alone: string;

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'wattn-scale-'));
    const lines = Array.from({ length: 120 }, (_, i) => `Text ${i}: ${'the boat waits '.repeat(1 + ((i * i) % 7))}`);
    texts = join(folder, 'texts.txt');
    writeFileSync(texts, `${lines.join('\n')}\n${kHard}`);
    const said = await wattn(['embed'], readFileSync(texts));
    expect(said).toMatchObject({ code: 0, error: '' });
    alone = said.out;
    expect(alone.split('\n').length - 1).toBe(125);
  });
  afterAll(() => rmSync(folder, { recursive: true }));

  /** A script that runs wattn; the first of all its processes writes some lines and then has `victim` killed. */
  function fatalScript(victim: string): string {
    const script = join(folder, 'embed.sh');
    writeFileSync(
      script,
      `echo $$ >> '${folder}/started'
       if mkdir '${folder}/killed' 2>/dev/null; then
         head -n 3 | '${process.execPath}' '${cli}' embed --file -
         pid=$$
         ${victim}
         kill -9 $pid
         exit 1
       fi
       exec '${process.execPath}' '${cli}' embed --threads 1 "$@"`,
    );
    return script;
  }
  const started = () => readFileSync(join(folder, 'started'), 'utf8').trim().split('\n').length;

  (hasParallel ? it : it.skip)(`is the same under GNU parallel${unless(hasParallel, 'GNU parallel')}`, () => {
    const run = (args: string[], input?: Uint8Array) =>
      spawnSync('parallel', ['-k', '-j', '2', ...args], { input, encoding: 'utf8' });
    const command = [process.execPath, cli, 'embed'];
    expect(run(['--pipepart', '-a', texts, '--block', '-1', ...command]).stdout).toBe(alone);
    expect(run(['--pipe', '--block', '2k', ...command], readFileSync(texts)).stdout).toBe(alone);

    const parts = spawnSync('split', ['-n', 'l/3', texts, join(folder, 'part.')]);
    expect(parts.status).toBe(0);
    const files = readdirSync(folder).filter((name) => name.startsWith('part.')).sort(); // prettier-ignore
    const script = fatalScript(':');
    const said = run(['--retries', '3', 'sh', script, '--file', ':::', ...files.map((name) => join(folder, name))]);
    expect(said.status).toBe(0);
    expect(said.stdout).toBe(alone);
    expect(started()).toBe(files.length + 1);
    for (const name of ['killed', 'started']) rmSync(join(folder, name), { recursive: true });
  });

  (hasSpark ? it : it.skip)(`is the same under Spark, with a worker killed${unless(hasSpark, 'spark-submit with java')}`, () => {
    // The worker's JVM, some generations above the script.
    const victim = `until tr '\\0' ' ' < /proc/$pid/cmdline | grep -q CoarseGrainedExecutorBackend; do
           pid=$(awk '/^PPid/ { print $2 }' /proc/$pid/status)
           [ "$pid" -gt 1 ] || exit 1
         done`;
    const out = join(folder, 'out');
    const partitions = 3;
    const said = spawnSync(
      'spark-submit',
      [
        ...['--master', 'local-cluster[2,1,1024]', '--conf', 'spark.ui.enabled=false', join(root, 'examples/spark_embed.py')],
        ...[texts, out, '--partitions', String(partitions), '--command', `sh ${fatalScript(victim)}`],
      ],
      { encoding: 'utf8', env: { ...process.env, SPARK_LOCAL_IP: '127.0.0.1' } },
    );
    if (said.status !== 0) throw new Error(said.stderr.slice(-2000));
    const parts = readdirSync(out).filter((name) => name.startsWith('part-')).sort(); // prettier-ignore
    expect(parts.length).toBe(partitions);
    expect(parts.map((name) => readFileSync(join(out, name), 'utf8')).join('')).toBe(alone);
    expect(existsSync(join(folder, 'killed'))).toBe(true);
    expect(started()).toBeGreaterThan(partitions);
    expect(said.stderr).toMatch(/Lost executor|ExecutorLostFailure/);
  });
});
