// A worker that translates: loads its model at the first message, and streams.
import { TextStreamer, pipeline } from '@huggingface/transformers';

class Translator {
  static instance = null;
  static get(progress_callback) {
    this.instance ??= pipeline('translation', 'Xenova/opus-mt-en-fr', { dtype: 'q8', progress_callback });
    return this.instance;
  }
}

self.addEventListener('message', async ({ data }) => {
  const translator = await Translator.get((progress) => self.postMessage(progress));
  const callback_function = (output) => self.postMessage({ status: 'update', output });
  const streamer = new TextStreamer(translator.tokenizer, { skip_prompt: true, skip_special_tokens: true, callback_function });
  const output = await translator(data.text, { streamer, max_new_tokens: 12, truncation: true });
  self.postMessage({ status: 'complete', output });
});
