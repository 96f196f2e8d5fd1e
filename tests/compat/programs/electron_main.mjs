// The main process of a desktop program: a window asks over a channel, and the model is loaded with the first question.
import { pipeline, env } from '@huggingface/transformers';

class Classification {
  static task = 'text-classification';
  static instance = null;
  static async getInstance(model, progress_callback = null) {
    if (this.instance === null) {
      env.cacheDir = './.cache';
      this.instance = pipeline(this.task, model, { progress_callback });
    }
    return this.instance;
  }
}

export default async function run({ sequence: id }) {
  const { cacheDir } = env;
  const handlers = new Map();
  const ipcMain = { handle: (channel, handler) => handlers.set(channel, handler) }; // as Electron's
  const invoke = (channel, ...args) => handlers.get(channel)({ sender: 'window' }, ...args);

  ipcMain.handle('transformers:run', async (event, text) => {
    const classifier = await Classification.getInstance(id);
    return await classifier(text);
  });
  const answers = await Promise.all([
    invoke('transformers:run', 'The river runs under the bridge.'),
    invoke('transformers:run', ['query', 'The river runs under the bridge.']),
  ]);
  await (await Classification.getInstance()).dispose();
  env.cacheDir = cacheDir;
  return { answers: JSON.parse(JSON.stringify(answers)), channels: [...handlers.keys()] }; // what crosses between processes
}
