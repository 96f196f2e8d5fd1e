// A script in a terminal: it answers a chat and prints the words as they come.
import { pipeline, TextStreamer } from '@huggingface/transformers';

export default async function run({ chat: id, chat_template }) {
  const generator = await pipeline('text-generation', id, { dtype: 'fp32' });
  generator.tokenizer.chat_template = chat_template;
  const messages = [
    { role: 'system', content: 'Be kind.' },
    { role: 'user', content: 'The boat waits.' },
  ];
  const printed = [];
  const streamer = new TextStreamer(generator.tokenizer, {
    skip_prompt: true,
    skip_special_tokens: true,
    callback_function: (text) => printed.push(text),
  });
  const output = await generator(messages, { max_new_tokens: 12, do_sample: false, streamer });
  const chat = output[0].generated_text;
  await generator.dispose();
  return { roles: chat.map(({ role }) => role), answer: chat.at(-1).content, printed: printed.join('') };
}
