// Ranks passages by a model that reads query and passage together.
import { AutoModelForSequenceClassification, AutoTokenizer } from '@huggingface/transformers';

export default async function run({ ranker: id }) {
  const model = await AutoModelForSequenceClassification.from_pretrained(id, { dtype: 'fp32' });
  const tokenizer = await AutoTokenizer.from_pretrained(id);
  const query = 'Where is the boat?';
  const passages = ['The boat waits below the old bridge.', 'Small birds sing in the wind.', 'Home in the dark.'];
  const features = tokenizer(new Array(passages.length).fill(query), {
    text_pair: passages,
    padding: true,
    truncation: true,
  });
  const { logits } = await model(features);
  const scores = logits.sigmoid().squeeze(1);
  const ranking = scores
    .tolist()
    .map((score, corpus_id) => ({ corpus_id, score }))
    .sort((a, b) => b.score - a.score);
  await model.dispose();
  return { dims: logits.dims, best: Number(scores.argmax().item()), ranking };
}
