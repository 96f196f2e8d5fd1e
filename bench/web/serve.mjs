// `wattn serve` with 64 clients on one core: 1,000 short requests of one text each, against the same server without batches (--max-batch-tokens 1).
// Servers run on core 0, in turns, the clients on the other ones. Requests per second by the clock and by the server's processor time, which other
// work on the machine disturbs less; medians of the rounds. ROUNDS: 7 by default. REQUESTS: in place of 1,000.
// MODELS: only those whose name contains it.
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { Agent, request } from 'node:http';
import { loadavg } from 'node:os';
import { join } from 'node:path';
import { writeRecord } from './lib/record.mjs';
import { checkpoint, median, root } from './lib/rival.mjs';

const rounds = Number(process.env.ROUNDS ?? 7);
const [kClients, kRequests] = [64, Number(process.env.REQUESTS ?? 1000)];
const kText = (i) => `when can I buy fresh rolls in bakery number ${i}`;
const pinned = spawnSync('taskset', ['-c', '0', 'true']).status === 0;

/** Starts a server, and gives its address once it listens. */
async function start(args) {
  const [command, ...rest] = pinned ? ['taskset', '-c', '0', process.execPath, ...args] : [process.execPath, ...args];
  const child = spawn(command, rest, { stdio: ['ignore', 'pipe', 'inherit'] });
  let said = '';
  child.stdout.setEncoding('utf8').on('data', (text) => (said += text));
  while (!said.includes('\n')) {
    if (child.exitCode !== null) throw new Error(`${args} ended`);
    await Promise.race([once(child.stdout, 'data'), once(child, 'exit')]);
  }
  const agent = new Agent({ keepAlive: true, maxSockets: kClients });
  const end = async () => {
    agent.destroy();
    child.kill();
    await once(child, 'exit');
  };
  return { url: JSON.parse(said).url, agent, end, pid: child.pid };
}

function ask({ url, agent }, i) {
  return new Promise((resolve, reject) => {
    const body = JSON.stringify({ input: kText(i), encoding_format: 'base64' });
    const headers = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) };
    const sent = request(`${url}/v1/embeddings`, { method: 'POST', agent, headers }, (response) => {
      let text = '';
      response.setEncoding('utf8').on('data', (part) => (text += part));
      response.on('end', () =>
        response.statusCode === 200 ? resolve(JSON.parse(text).data[0].embedding) : reject(new Error(text)),
      );
    });
    sent.on('error', reject).end(body);
  });
}

/** Seconds of processor time of a process with all its threads. */
function processorTime(pid) {
  const [user, system] = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1].split(' ').slice(11, 13).map(Number); // prettier-ignore
  return (user + system) / 100;
}

/** All requests, each client one at a time. */
async function run(server) {
  const vectors = [];
  let next = 0;
  const before = processorTime(server.pid);
  const begin = performance.now();
  await Promise.all(
    Array.from({ length: kClients }, async () => {
      while (next < kRequests) {
        const i = next++;
        vectors[i] = await ask(server, i);
      }
    }),
  );
  const seconds = (performance.now() - begin) / 1000;
  return { clock: kRequests / seconds, processor: kRequests / (processorTime(server.pid) - before), vectors };
}

const cli = join(root, 'dist/cli.js');
const kinds = [['model in the package, q8', []]];
if (existsSync(checkpoint)) {
  kinds.push(['MiniLM q8', ['--model', checkpoint, '--dtype', 'q8']], ['MiniLM f32', ['--model', checkpoint, '--dtype', 'f32']]);
}
const rows = [];
for (const [name, args] of kinds.filter(([name]) => name.includes(process.env.MODELS ?? ''))) {
  const own = ['serve', '--port', '0', '--threads', '1', ...args];
  const servers = {
    batches: await start([cli, ...own]),
    single: await start([cli, ...own, '--max-batch-tokens', '1']),
  };
  const speeds = {};
  let vectors;
  for (let round = -1; round < rounds; ++round) {
    for (const [kind, server] of Object.entries(servers)) {
      const found = await run(server);
      if (JSON.stringify((vectors ??= found.vectors)) !== JSON.stringify(found.vectors)) throw new Error('other bits');
      if (round < 0) continue;
      for (const by of ['clock', 'processor']) (speeds[`${kind} ${by}`] ??= []).push(found[by]);
    }
  }
  for (const server of Object.values(servers)) await server.end();
  for (const by of ['processor', 'clock']) {
    const of = (kind) => speeds[`${kind} ${by}`] && median(speeds[`${kind} ${by}`]);
    const ratio = (kind) => (of(kind) ? (of('batches') / of(kind)).toFixed(2) : '');
    rows.push({
      case: `${name}, requests a second of ${by}${by === 'processor' ? ' time' : ''}`,
      wattn: of('batches').toFixed(0),
      'without batches': of('single').toFixed(0),
      ratio: ratio('single'),
      load: loadavg()[0].toFixed(1),
      host: `node ${process.version}`,
    });
  }
}
console.table(rows.map(({ host: _host, ...row }) => row));
writeRecord('serve', rows);
