// A worker that goes on with code in an editor; the page may set how.
import { pipeline, TextStreamer } from '@huggingface/transformers';

class Completer {
  static model = null;
  static instance = null;
  static async getInstance(id, progress_callback = null) {
    if (this.model !== id) {
      await (await this.instance)?.dispose();
      this.model = id;
      this.instance = null;
    }
    this.instance ??= pipeline('text-generation', id, { progress_callback });
    return this.instance;
  }
}

const makeWorker = (post) => async (event) => {
  const { model, text, max_new_tokens, temperature, top_k, do_sample } = event.data;
  const generator = await Completer.getInstance(model, (info) => post(info));
  const streamer = new TextStreamer(generator.tokenizer, {
    skip_prompt: true,
    callback_function: (output) => post({ status: 'update', output }),
  });
  const output = await generator(text, { max_new_tokens, temperature, top_k, do_sample, streamer });
  post({ status: 'complete', output: output[0].generated_text });
};

export default async function run({ chat: id }) {
  const posted = [];
  const onmessage = makeWorker((message) => posted.push(message));
  const data = { model: id, text: 'the boat', max_new_tokens: 8, temperature: 0.5, top_k: 5, do_sample: false };
  await onmessage({ data });
  await onmessage({ data: { ...data, do_sample: true, top_k: 1 } }); // the likeliest of one is the likeliest
  const of = (wanted) => posted.filter(({ status }) => status === wanted).map(({ output }) => output);
  const streamed = of('update').join('');
  const [greedy, sampled] = of('complete');
  await (await Completer.getInstance(id)).dispose();
  return { greedy, sampled, streamed, ready: posted.some(({ status }) => status === 'ready') };
}
