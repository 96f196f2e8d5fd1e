// A worker that chats: it streams words, counts tokens, and can be interrupted.
import {
  AutoModelForCausalLM,
  AutoTokenizer,
  InterruptableStoppingCriteria,
  StoppingCriteriaList,
  TextStreamer,
} from '@huggingface/transformers';

const stopper = new InterruptableStoppingCriteria();
let past_key_values_cache = null;

async function generate({ tokenizer, model, messages, chat_template, max_new_tokens, post }) {
  const inputs = tokenizer.apply_chat_template(messages, { chat_template, add_generation_prompt: true, return_dict: true });
  let numTokens = 0;
  const streamer = new TextStreamer(tokenizer, {
    skip_prompt: true,
    skip_special_tokens: true,
    callback_function: (output) => post({ status: 'update', output, numTokens }),
    token_callback_function: () => {
      ++numTokens;
      post({ status: 'token' });
    },
  });
  const stopping_criteria = new StoppingCriteriaList();
  stopping_criteria.push(stopper);
  post({ status: 'start' });
  const { past_key_values, sequences } = await model.generate({
    ...inputs,
    past_key_values: past_key_values_cache,
    do_sample: false,
    max_new_tokens,
    streamer,
    stopping_criteria,
    return_dict_in_generate: true,
  });
  past_key_values_cache = past_key_values;
  const fresh = sequences.slice(null, [inputs.input_ids.dims.at(-1), null]);
  const [output] = tokenizer.batch_decode(fresh, { skip_special_tokens: true });
  post({ status: 'complete', output, count: fresh.dims[1] });
}

export default async function run({ chat: id, chat_template }) {
  const tokenizer = await AutoTokenizer.from_pretrained(id);
  const model = await AutoModelForCausalLM.from_pretrained(id, { dtype: 'fp32', device: 'cpu' });
  const turn = async (messages, interruptAt = Infinity) => {
    const posted = [];
    const post = (message) => {
      posted.push(message);
      if (posted.filter(({ status }) => status === 'token').length === interruptAt) stopper.interrupt();
    };
    stopper.reset();
    await generate({ tokenizer, model, messages, chat_template, max_new_tokens: 12, post });
    const { output, count } = posted.at(-1);
    const streamed = posted.filter(({ status }) => status === 'update').map((message) => message.output).join(''); // prettier-ignore
    return { output, count, streamed };
  };
  const question = [{ role: 'user', content: 'The boat waits.' }];
  const whole = await turn(question);
  const interrupted = await turn(question, 5);
  const next = [...question, { role: 'assistant', content: whole.output }, { role: 'user', content: 'Why?' }];
  const second = await turn(next);
  past_key_values_cache = null;
  await model.dispose();
  return { whole, interrupted, second };
}
