// A chat with a model that thinks before it answers: the page is told in which of the two states each piece was written.
import { AutoModelForCausalLM, AutoTokenizer, InterruptableStoppingCriteria, TextStreamer } from '@huggingface/transformers';

const stopping_criteria = new InterruptableStoppingCriteria();

async function generate({ tokenizer, model, messages, chat_template, reasonEnabled, endOfThought, past_key_values, post }) {
  const inputs = tokenizer.apply_chat_template(messages, {
    chat_template,
    add_generation_prompt: true,
    return_dict: true,
    enable_thinking: reasonEnabled,
  });
  let state = 'thinking';
  let numTokens = 0;
  const streamer = new TextStreamer(tokenizer, {
    skip_prompt: true,
    skip_special_tokens: true,
    callback_function: (output) => post({ status: 'update', output, numTokens, state }),
    token_callback_function: (tokens) => {
      ++numTokens;
      if (Number(tokens[0]) === endOfThought) state = 'answering';
    },
  });
  const output = await model.generate({
    ...inputs,
    past_key_values,
    do_sample: false,
    max_new_tokens: 10,
    streamer,
    stopping_criteria,
    return_dict_in_generate: true,
  });
  const decoded = tokenizer.batch_decode(output.sequences, { skip_special_tokens: true });
  post({ status: 'complete', output: decoded });
  return { prompt: inputs.input_ids.dims[1], ...output };
}

export default async function run({ chat: id, chat_template }) {
  const tokenizer = await AutoTokenizer.from_pretrained(id);
  const model = await AutoModelForCausalLM.from_pretrained(id, { dtype: 'fp32' });
  const template = `${chat_template}{% if enable_thinking %}hm {% endif %}`;
  const ask = async (messages, reasonEnabled, endOfThought, past_key_values = null) => {
    const posted = [];
    const post = (message) => posted.push(message);
    const rest = { messages, chat_template: template, reasonEnabled, endOfThought, past_key_values, post };
    stopping_criteria.reset();
    const { prompt, sequences, past_key_values: cache } = await generate({ tokenizer, model, ...rest });
    const ids = sequences.slice(null, [prompt, null]).tolist()[0].map(Number);
    return { prompt, ids, cache, whole: posted.at(-1).output[0], states: posted.slice(0, -1).map(({ state }) => state) };
  };
  const first = [{ role: 'user', content: 'The boat waits.' }];
  const plain = await ask(first, false, -1);
  const thinking = await ask(first, true, -1);
  const turns = await ask(first, true, thinking.ids[3]); // a token of the answer stands for the end of thought
  const answer = tokenizer.decode(plain.ids, { skip_special_tokens: true });
  const next = [...first, { role: 'assistant', content: answer }, { role: 'user', content: 'Why?' }];
  const again = await ask(next, false, -1, plain.cache);
  const anew = await ask(next, false, -1);
  await model.dispose();
  return {
    prompts: [plain.prompt, thinking.prompt],
    begins: plain.whole.includes('he boat waits'),
    states: [...new Set(turns.states)],
    same: JSON.stringify(again.ids) === JSON.stringify(anew.ids),
    ids: plain.ids,
  };
}
