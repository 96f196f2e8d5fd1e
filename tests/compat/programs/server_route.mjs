// A route handler of a server: the model is loaded once, with the first request.
import { env, pipeline } from '@huggingface/transformers';

env.backends.onnx.wasm.numThreads = 1;

class Classifier {
  static task = 'text-classification';
  static instance = null;
  static getInstance(id, progress_callback = null) {
    this.instance ??= pipeline(this.task, id, { dtype: 'fp32', progress_callback });
    return this.instance;
  }
}

async function GET(request, id, progress) {
  const text = new URL(request.url).searchParams.get('text');
  if (!text) return Response.json({ error: 'Missing text parameter' }, { status: 400 });
  const classifier = await Classifier.getInstance(id, progress);
  return Response.json(await classifier(text, { top_k: 2 }));
}

export default async function run({ sequence: id }) {
  const states = new Set();
  const get = (query) => GET(new Request(`http://localhost/api/classify${query}`), id, ({ status }) => states.add(status));
  const responses = await Promise.all(['', '?text=The%20river%20runs%20under%20the%20bridge.', '?text=query'].map(get));
  const bodies = await Promise.all(responses.map((response) => response.json()));
  await (await Classifier.getInstance()).dispose();
  return { codes: responses.map(({ status }) => status), bodies, ready: states.has('ready') && states.has('initiate') };
}
