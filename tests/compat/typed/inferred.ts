// The result type that follows from a call's options: each line has a different type.
import { AutoModel, AutoTokenizer, env, pipeline, Tensor, TextStreamer, cos_sim } from '@huggingface/transformers';

export async function inferred(): Promise<unknown[]> {
  env.allowLocalModels = false;
  env.backends.onnx.wasm.numThreads = 1;
  const extractor = await pipeline('feature-extraction', 'Xenova/all-MiniLM-L6-v2', { dtype: 'fp32', device: 'wasm' });
  const vectors: Tensor = await extractor(['a', 'b'], { pooling: 'mean', normalize: true });
  const rows: number[][] = vectors.tolist();
  const bits = await extractor('a', { pooling: 'mean', quantize: true, precision: 'ubinary' });
  const classifier = await pipeline('sentiment-analysis');
  const [{ label, score }] = await classifier('a');
  const all: { label: string }[][] = await classifier(['a'], { top_k: null });
  const ner = await pipeline('token-classification', 'Xenova/bert-base-NER');
  const tag: string | undefined = (await ner('a'))[0]?.entity;
  const group: string | undefined = (await ner('a', { aggregation_strategy: 'simple' }))[0]?.entity_group;
  const qa = await pipeline('question-answering');
  const one: string | undefined = (await qa('a', 'b'))?.answer;
  const many: number = (await qa('a', 'b', { top_k: 3 })).length;
  const zero = await pipeline('zero-shot-classification', 'Xenova/nli-deberta-v3-xsmall');
  const best: string | undefined = (await zero('a', ['b', 'c'], { multi_label: true })).labels[0];
  const generator = await pipeline('text-generation', 'HuggingFaceTB/SmolLM2-135M-Instruct', { dtype: 'q4' });
  const text: string = (await generator('a', { max_new_tokens: 4 }))[0].generated_text;
  const reply: string | undefined = (await generator([{ role: 'user', content: 'a' }]))[0].generated_text.at(-1)?.content;
  const streamer = new TextStreamer(generator.tokenizer, { skip_prompt: true, callback_function: (piece: string) => void piece });
  await generator([{ role: 'user', content: 'a' }], { max_new_tokens: 4, do_sample: false, streamer });
  const translate = await pipeline('translation', 'Xenova/opus-mt-en-fr');
  const french: string | undefined = (await translate('a'))[0]?.translation_text;
  const labels: Record<string, string> = classifier.model.config['id2label'];
  const tokenizer = await AutoTokenizer.from_pretrained('Xenova/all-MiniLM-L6-v2');
  const model = await AutoModel.from_pretrained('Xenova/all-MiniLM-L6-v2');
  const { last_hidden_state } = await model(tokenizer(['a'], { padding: true, truncation: true }));
  const near: number = cos_sim(rows[0]!, rows[1]!);
  return [bits, label, score, all, tag, group, one, many, best, text, reply, french, labels, last_hidden_state.dims, near];
}
