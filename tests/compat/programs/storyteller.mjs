// Continues a text word by word, with a config of its own and a criterion that ends it.
import { AutoConfig, pipeline, StoppingCriteria, TextStreamer } from '@huggingface/transformers';

class Enough extends StoppingCriteria {
  constructor(prompt, count) {
    super();
    this.most = prompt + count;
  }
  _call(input_ids) {
    return input_ids.map((ids) => ids.length >= this.most);
  }
}

export default async function run({ chat: id }) {
  const { model_type, vocab_size } = await AutoConfig.from_pretrained(id);
  const generator = await pipeline('text-generation', id, { dtype: 'fp32' });
  const words = [];
  const streamer = new TextStreamer(generator.tokenizer, { skip_prompt: true, callback_function: (text) => words.push(text) });
  const prompt = 'The boat waits';
  const options = { max_new_tokens: 16, do_sample: false, return_full_text: false };
  const [{ generated_text }] = await generator(prompt, { ...options, streamer });
  const { length } = generator.tokenizer.encode(prompt);
  const [short] = await generator(prompt, { ...options, stopping_criteria: new Enough(length, 4) });
  await generator.dispose();
  return { model_type, vocab_size, generated_text, streamed: words.join(''), short: short.generated_text };
}
