// `wattn serve` with 64 clients on one core: 1,000 requests of one text each, against the same server without batching (--max-batch-tokens 1).
// Then against transformers.js behind the same route (lib/rival_server.mjs), on onnxruntime-web and on native onnxruntime. Servers run on core 0,
// one at a time, and the clients on the other cores. Requests per second of wall-clock time and of the server's processor time, which other work
// on the machine disturbs less; medians of the rounds. ROUNDS: 7 by default. REQUESTS: in place of 1,000.
// MODELS: only those whose name contains it. Without the checkpoint and its ONNX version (against_onnxruntime.mjs) the model in the package alone.
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { Agent, request } from 'node:http';
import { loadavg } from 'node:os';
import { join } from 'node:path';
import { writeRecord } from './lib/record.mjs';
import { checkpoint, kRival, median, prepare, root } from './lib/rival.mjs';

const rounds = Number(process.env.ROUNDS ?? 7);
const [kClients, kRequests] = [64, Number(process.env.REQUESTS ?? 1000)];
/** Texts of 15 and 5 tokens. */
const kTexts = { question: (i) => `when can I buy fresh rolls in bakery number ${i}`, 'two words': (i) => `rolls ${i}` };
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
  const end = async () => {
    child.kill();
    await once(child, 'exit');
  };
  return { url: JSON.parse(said).url, end, pid: child.pid };
}

function ask({ url }, agent, text) {
  return new Promise((resolve, reject) => {
    const body = JSON.stringify({ input: text, encoding_format: 'base64' });
    const headers = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) };
    const sent = request(`${url}/v1/embeddings`, { method: 'POST', agent, headers }, (response) => {
      let said = '';
      response.setEncoding('utf8').on('data', (part) => (said += part));
      response.on('end', () =>
        response.statusCode === 200 ? resolve(JSON.parse(said).data[0].embedding) : reject(new Error(said)),
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
async function run(server, textOf) {
  const agent = new Agent({ keepAlive: true, maxSockets: kClients }); // of this round: a server ends connections that wait for the next one
  const vectors = [];
  let next = 0;
  const before = processorTime(server.pid);
  const begin = performance.now();
  await Promise.all(
    Array.from({ length: kClients }, async () => {
      while (next < kRequests) {
        const i = next++;
        vectors[i] = await ask(server, agent, textOf(i));
      }
    }),
  );
  const seconds = (performance.now() - begin) / 1000;
  agent.destroy();
  return { clock: kRequests / seconds, processor: kRequests / (processorTime(server.pid) - before), vectors };
}

const cli = join(root, 'dist/cli.js');
const rival = join(root, 'bench/web/lib/rival_server.mjs');
const kinds = [['model in the package, q8', []]];
if (existsSync(checkpoint)) {
  prepare();
  kinds.push(['MiniLM q8', ['--model', checkpoint, '--dtype', 'q8'], 'q8']);
  kinds.push(['MiniLM f32', ['--model', checkpoint, '--dtype', 'f32'], 'fp32']);
}

/** The rounds of all servers in turns: what each did by each measure. */
async function compare(servers, textOf) {
  const speeds = {};
  let vectors;
  for (let round = -1; round < rounds; ++round) {
    for (const [kind, server] of Object.entries(servers)) {
      const found = await run(server, textOf);
      const isOwn = !kind.startsWith('transformers.js');
      if (isOwn && JSON.stringify((vectors ??= found.vectors)) !== JSON.stringify(found.vectors)) throw new Error('other bits');
      if (round < 0) continue;
      for (const by of ['clock', 'processor']) (speeds[`${kind} ${by}`] ??= []).push(found[by]);
    }
  }
  return speeds;
}

const rows = [];
for (const [name, args, dtype] of kinds.filter(([name]) => name.includes(process.env.MODELS ?? ''))) {
  const own = [cli, 'serve', '--port', '0', '--threads', '1', ...args];
  const servers = { wattn: await start(own), 'without batches': await start([...own, '--max-batch-tokens', '1']) };
  for (const backend of dtype ? ['wasm', 'native'] : [])
    servers[`transformers.js ${backend}`] = await start([rival, backend, dtype]);
  for (const [text, textOf] of Object.entries(kTexts)) {
    const speeds = await compare(servers, textOf);
    for (const by of ['processor', 'clock']) {
      const of = (kind) => median(speeds[`${kind} ${by}`]);
      const ratio = (kind) => (servers[kind] ? `${of(kind).toFixed(0)} (${(of('wattn') / of(kind)).toFixed(2)})` : '');
      rows.push({
        case: `${name}, ${text}, a second of ${by}${by === 'processor' ? ' time' : ''}`,
        wattn: of('wattn').toFixed(0),
        'without batches': ratio('without batches'),
        'transformers.js wasm': ratio('transformers.js wasm'),
        'transformers.js native': ratio('transformers.js native'),
        load: loadavg()[0].toFixed(1),
        rival: kRival,
        host: `node ${process.version}`,
      });
    }
  }
  for (const server of Object.values(servers)) await server.end();
}
console.table(rows.map(({ host: _host, rival: _rival, ...row }) => row));
writeRecord('serve', rows);
