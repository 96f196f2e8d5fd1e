// A server of Node's own: text in the address, labels in the answer.
import http from 'node:http';
import querystring from 'node:querystring';
import url from 'node:url';
import { pipeline } from '@huggingface/transformers';

class MyClassificationPipeline {
  static task = 'text-classification';
  static instance = null;
  static async getInstance(model, progress_callback = null) {
    this.instance ??= pipeline(this.task, model, { dtype: 'fp32', progress_callback });
    return this.instance;
  }
}

export default async function run({ sequence: id }) {
  MyClassificationPipeline.getInstance(id); // begins to load
  const server = http.createServer();
  server.on('request', async (request, response) => {
    const parsed = url.parse(request.url);
    const { text } = querystring.parse(parsed.query);
    response.setHeader('Content-Type', 'application/json');
    if (parsed.pathname !== '/classify' || !text) {
      response.statusCode = 400;
      return response.end(JSON.stringify({ error: 'Bad request' }));
    }
    const classifier = await MyClassificationPipeline.getInstance(id);
    response.statusCode = 200;
    return response.end(JSON.stringify(await classifier(text)));
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  const ask = async (path) => {
    const response = await fetch(`http://127.0.0.1:${server.address().port}${path}`, { headers: { connection: 'close' } });
    return [response.status, await response.json()];
  };
  const answers = [await ask('/classify?text=query'), await ask('/classify'), await ask('/')];
  await new Promise((resolve) => server.close(resolve));
  await (await MyClassificationPipeline.getInstance()).dispose();
  return answers;
}
