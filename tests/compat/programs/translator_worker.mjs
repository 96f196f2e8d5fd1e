// A worker that translates: it tells the page of the loading, of the text so far, and of the end.
import { pipeline, TextStreamer } from '@huggingface/transformers';

class Translator {
  static instance = null;
  static getInstance(id, progress_callback = null) {
    this.instance ??= pipeline('translation', id, { dtype: 'fp32', progress_callback });
    return this.instance;
  }
}

function makeWorker(id, post) {
  return async ({ data }) => {
    const translator = await Translator.getInstance(id, (info) => post(info));
    const streamer = new TextStreamer(translator.tokenizer, {
      skip_prompt: true,
      skip_special_tokens: true,
      callback_function: (output) => post({ status: 'update', output }),
    });
    const output = await translator(data.text, { max_new_tokens: 14, num_beams: 1, streamer });
    post({ status: 'complete', output });
  };
}

export default async function run({ translate: id }) {
  const posted = [];
  await makeWorker(id, (message) => posted.push(message))({ data: { text: 'the old boat waits below the bridge.' } });
  const of = (status) => posted.filter((message) => message.status === status);
  await (await Translator.getInstance()).dispose();
  return {
    loaded: ['initiate', 'ready'].every((status) => of(status).length > 0),
    streamed: of('update').map(({ output }) => output).join('').trim(), // prettier-ignore
    output: of('complete')[0].output,
  };
}
