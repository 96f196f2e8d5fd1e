// Tiny stand-ins for the models in the guides.
import { join } from 'node:path';
import { filesOf, goldens, headFiles, tinyFiles, type Files } from './support.js';

const folder = (name: string) => filesOf(join(goldens, name));

/** What the examples name, and what is loaded here. */
const kModels: Record<string, () => Files> = {
  'sentence-transformers/all-MiniLM-L6-v2': tinyFiles,
  'distilbert/distilbert-base-uncased-finetuned-sst-2-english': () => headFiles('sequence'),
  'dslim/bert-base-NER': () => headFiles('token'),
  'deepset/minilm-uncased-squad2': () => headFiles('answer'),
  'cross-encoder/ms-marco-MiniLM-L6-v2': () => headFiles('ranker'),
  'lightonai/GTE-ModernColBERT-v1': () => folder('late-interaction/modernbert'),
  'BAAI/bge-m3': () => folder('m3'),
  'Qwen/Qwen3-Reranker-0.6B': () => folder('rerankers/qwen3'),
  'naver/splade-cocondenser-ensembledistil': () => folder('sparse/splade'),
  'HuggingFaceTB/SmolLM2-135M-Instruct': chatFiles,
  'Helsinki-NLP/opus-mt-en-de': () => folder('seq2seq/marian'),
  'google-t5/t5-small': () => folder('seq2seq/t5'),
  'google/flan-t5-small': () => folder('seq2seq/flan-t5'),
  'openai-community/gpt2': () => folder('decoders/gpt2'),
  'minishlab/potion-base-8M': () => folder('static/model2vec-float32'),
};

export function chatFiles(): Files {
  const files = folder('decoders/smollm');
  const config = JSON.parse(new TextDecoder().decode(files.get('tokenizer_config.json')));
  config.chat_template = "{% for message in messages %}{{ message['content'] }} {% endfor %}";
  return files.set('tokenizer_config.json', new TextEncoder().encode(JSON.stringify(config)));
}

/** Their files under the paths that they have on a hub. */
export const hubFiles = (): Files =>
  new Map(
    Object.entries(kModels).flatMap(([id, files]) =>
      [...files()].map(([name, bytes]) => [`${id}/resolve/main/${name}`, bytes] as const),
    ),
  );

/** The tiny models have fewer pieces than an example wants. */
export const forTinyModels = (code: string): string => code.replace('16_000', '300');
