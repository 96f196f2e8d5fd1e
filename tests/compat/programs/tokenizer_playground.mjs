// Shows the tokens of a text, each with its own text, for one model after another.
import { AutoTokenizer } from '@huggingface/transformers';

const tokenizers = new Map();

async function onmessage({ data: { model_id, text } }) {
  if (!tokenizers.has(model_id)) tokenizers.set(model_id, AutoTokenizer.from_pretrained(model_id));
  const tokenizer = await tokenizers.get(model_id);
  const token_ids = tokenizer.encode(text);
  const decoded = token_ids.map((id) => tokenizer.decode([id]));
  return { token_ids, decoded, whole: tokenizer.decode(token_ids, { skip_special_tokens: true }) };
}

export default async function run({ embed, chat }) {
  const out = [];
  for (const model_id of [embed, chat, embed])
    out.push(await onmessage({ data: { model_id, text: 'the old boat, under the bridge.' } }));
  const tokenizer = await tokenizers.get(embed);
  const { input_ids, attention_mask } = tokenizer(['The boat', 'Small birds sing in the wind'], { padding: true });
  return { out, dims: input_ids.dims, type: input_ids.type, mask: attention_mask.tolist().map((row) => row.map(Number)) };
}
