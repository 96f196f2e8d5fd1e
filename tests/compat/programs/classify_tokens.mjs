// Names in texts, answers in texts, words for a mask.
import { pipeline } from '@huggingface/transformers';

export default async function run({ token, answer, masked }) {
  const load = (task, id) => pipeline(task, id, { dtype: 'fp32', device: 'cpu', session_options: {} });
  const ner = await load('token-classification', token);
  const found = await ner('A small boat waits below the old bridge.', { ignore_labels: [] });
  const qa = await load('question-answering', answer);
  const { answer: text } = await qa('When was the bridge closed?', 'The old bridge over the river was closed in 1987.');
  const fill = await load('fill-mask', masked);
  const filled = await fill('The [MASK] runs under the bridge.', { top_k: 2 });
  for (const each of [ner, qa, fill]) await each.dispose();
  return {
    found: found.map(({ entity, score, index, word }) => ({ entity, score, index, word })),
    answer: text.toLowerCase(), // transformers.js decodes the tokens, wattn cuts the text, as Python does
    filled: filled.map(({ score, token, token_str, sequence }) => ({ score, token, token_str, sequence })),
  };
}
