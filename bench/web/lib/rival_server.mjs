// transformers.js behind the route /v1/embeddings, as short as people write it: a call for each request. node rival_server.mjs BACKEND DTYPE
// BACKEND: wasm (onnxruntime-web, as in pages; its package for Node has the native one alone) or native (onnxruntime-node). One thread.
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { rivals } from './rival.mjs';

const [backend, dtype] = process.argv.slice(2);
const file = (path) => pathToFileURL(join(rivals, 'node_modules', path)).href;

if (backend === 'wasm') {
  const ort = await import(file('onnxruntime-web/dist/ort.wasm.min.mjs'));
  Object.assign(ort.env.wasm, { numThreads: 1, wasmPaths: file('onnxruntime-web/dist/') });
  // For Node transformers.js passes on the path of a model, which this backend would fetch.
  const create = (model, options) => ort.InferenceSession.create(readFileSync(model), options);
  globalThis[Symbol.for('onnxruntime')] = { ...ort, InferenceSession: { create } };
}
const { env, pipeline } = await import(file('@huggingface/transformers/dist/transformers.node.mjs'));
Object.assign(env, { allowRemoteModels: false, localModelPath: `${join(rivals, 'models')}/` });
const device = backend === 'wasm' ? 'auto' : 'cpu';
const embed = await pipeline('feature-extraction', 'minilm', { dtype, device, session_options: { intraOpNumThreads: 1 } });

async function answer(request, response) {
  const parts = [];
  for await (const part of request) parts.push(part);
  const { input } = JSON.parse(Buffer.concat(parts).toString());
  const { data } = await embed(input, { pooling: 'mean', normalize: true });
  const embedding = Buffer.from(data.buffer, data.byteOffset, data.byteLength).toString('base64');
  const body = Buffer.from(JSON.stringify({ object: 'list', data: [{ object: 'embedding', index: 0, embedding }] }));
  response.writeHead(200, { 'content-type': 'application/json', 'content-length': body.length }).end(body);
}
// As long as wattn's: the loop is busy for longer than the default of five seconds, after which connections with a request would be closed.
const server = createServer({ keepAliveTimeout: 65_000 }, (request, response) => void answer(request, response));
server.listen(0, '127.0.0.1', () => console.log(JSON.stringify({ url: `http://127.0.0.1:${server.address().port}` })));
