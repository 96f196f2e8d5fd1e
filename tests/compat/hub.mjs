// A Hub for tests/compat/snippets.md: tiny models under the ids that the programs use, and ONNX repositories whose cards refer to them. Also the
// snippets.
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** Repositories of the hub: the model that each is, and the original that a card names; '' for one with weights. */
const kHub = {
  'sentence-transformers/all-MiniLM-L6-v2': ['embed', ''],
  'Xenova/all-MiniLM-L6-v2': ['embed', 'sentence-transformers/all-MiniLM-L6-v2'],
  'distilbert/distilbert-base-uncased-finetuned-sst-2-english': ['sequence', ''],
  'Xenova/distilbert-base-uncased-finetuned-sst-2-english': [
    'sequence',
    'distilbert/distilbert-base-uncased-finetuned-sst-2-english',
  ],
  'cross-encoder/nli-deberta-v3-xsmall': ['nli', ''],
  'Xenova/nli-deberta-v3-xsmall': ['nli', 'cross-encoder/nli-deberta-v3-xsmall'],
  'dslim/bert-base-NER': ['token', ''],
  'Xenova/bert-base-NER': ['token', 'dslim/bert-base-NER'],
  'distilbert/distilbert-base-cased-distilled-squad': ['answer', ''],
  'Xenova/distilbert-base-cased-distilled-squad': ['answer', 'distilbert/distilbert-base-cased-distilled-squad'],
  'google-bert/bert-base-uncased': ['masked', ''],
  'Xenova/bert-base-uncased': ['masked', 'google-bert/bert-base-uncased'],
  'cross-encoder/ms-marco-MiniLM-L-6-v2': ['ranker', ''],
  'Xenova/ms-marco-MiniLM-L-6-v2': ['ranker', 'cross-encoder/ms-marco-MiniLM-L-6-v2'],
  'HuggingFaceTB/SmolLM2-135M-Instruct': ['chat', ''],
  'onnx-community/SmolLM2-135M-Instruct': ['chat', 'HuggingFaceTB/SmolLM2-135M-Instruct'],
  'Qwen/Qwen3-0.6B': ['chat', ''],
  'onnx-community/Qwen3-0.6B': ['chat', 'Qwen/Qwen3-0.6B'],
  'Helsinki-NLP/opus-mt-en-fr': ['translate', ''],
  'Xenova/opus-mt-en-fr': ['translate', 'Helsinki-NLP/opus-mt-en-fr'],
  'sshleifer/distilbart-cnn-6-6': ['translate', ''],
  'Xenova/distilbart-cnn-6-6': ['translate', 'sshleifer/distilbart-cnn-6-6'],
  'MBZUAI/LaMini-Flan-T5-783M': ['translate', ''],
  'Xenova/LaMini-Flan-T5-783M': ['translate', 'MBZUAI/LaMini-Flan-T5-783M'],
};
const kTemplate =
  "{% for message in messages %}{{ message['content'] }} {% endfor %}{% if enable_thinking is defined and not enable_thinking %}.{% endif %}";

/**
 * The bytes of a file of the hub; undefined: it is not there. A repository of ONNX has no weights, and a card that names its original. place: where
 * models.mjs wrote the models. path: `ORG/NAME/resolve/REVISION/FILE`.
 */
export function hubFile(place, path) {
  const [, id = '', file = ''] = /([^/]+\/[^/]+)\/resolve\/[^/]+\/([^?]+)/.exec(path) ?? [];
  const [model, original] = kHub[id] ?? [];
  if (model === undefined) return undefined;
  if (original && file === 'README.md') return Buffer.from(`---\nbase_model: ${original}\nlibrary_name: transformers.js\n---\n`);
  if (original && file === 'onnx/model.onnx') return Buffer.from('onnx');
  if (original && /safetensors|\.bin/.test(file)) return undefined;
  if (model === 'chat' && file === 'chat_template.jinja') return Buffer.from(kTemplate);
  const own = join(place, 'local', model, file);
  return existsSync(own) ? readFileSync(own) : undefined;
}

/** The snippets: title, what the output must contain, and code. */
export function snippets() {
  const text = readFileSync(join(dirname(fileURLToPath(import.meta.url)), 'snippets.md'), 'utf8');
  return [...text.matchAll(/^## (.+?): (.+)\n```js\n([^]*?)^```/gm)].map(([, title, output, code]) => ({ title, output, code }));
}

/** Programs that cannot run, and why. */
export const kStopped = {
  decoding: /Cannot read properties of undefined \(reading 'vocab'\)/, // get_vocab() has it, in transformers.js 4 too
};
