// The model of a task that was asked for without one: small, and free to use and to change. Loaded when it is needed.
import { InputError, describe } from '../core/errors.js';
import { nearestOf } from '../core/options.js';
import { warnOnce } from '../core/warn.js';
import { kAliases } from './aliases.js';

/** A hub id, and the licence that its card names. The model in the package does the other tasks. */
export const kDefaults: Readonly<Record<string, readonly [model: string, licence: string]>> = {
  'zero-shot-classification': ['MoritzLaurer/xtremedistil-l6-h256-zeroshot-v1.1-all-33', 'MIT'],
  'token-classification': ['dslim/distilbert-NER', 'Apache-2.0'],
  'zero-shot-ner': ['urchade/gliner_small-v2.1', 'Apache-2.0'],
  'information-extraction': ['fastino/gliner2-base-v1', 'Apache-2.0'],
  'question-answering': ['distilbert/distilbert-base-cased-distilled-squad', 'Apache-2.0'],
  'fill-mask': ['distilbert/distilbert-base-uncased', 'Apache-2.0'],
  'text-ranking': ['cross-encoder/ms-marco-MiniLM-L6-v2', 'Apache-2.0'],
  'text-generation': ['HuggingFaceTB/SmolLM2-135M-Instruct', 'Apache-2.0'],
  'text2text-generation': ['google/flan-t5-small', 'Apache-2.0'],
  translation: ['google-t5/t5-small', 'Apache-2.0'],
  summarization: ['google-t5/t5-small', 'Apache-2.0'],
  'late-interaction': ['answerdotai/answerai-colbert-small-v1', 'Apache-2.0'],
  'sparse-encoding': ['opensearch-project/opensearch-neural-sparse-encoding-doc-v3-distill', 'Apache-2.0'],
};

/** The default model of a task, which a warning names. undefined: the model in the package. */
export function defaultModel(task: string): string | undefined {
  const [model, licence] = kDefaults[task] ?? [];
  if (model !== undefined) warnOnce(`pipeline: no model given for '${task}': '${model}' (${licence}) is loaded`);
  return model;
}

/** What tasks are called elsewhere. */
const kOtherNames: Readonly<Record<string, string>> = {
  embedding: 'feature-extraction',
  embed: 'feature-extraction',
  'sentence-similarity': 'feature-extraction',
  'text-embedding': 'feature-extraction',
  classification: 'text-classification',
  classify: 'text-classification',
  sentiment: 'sentiment-analysis',
  rerank: 'text-ranking',
  reranking: 'text-ranking',
  'cross-encoder': 'text-ranking',
  summarize: 'summarization',
  summary: 'summarization',
  translate: 'translation',
  chat: 'text-generation',
  generate: 'text-generation',
  'chat-completion': 'text-generation',
  'masked-lm': 'fill-mask',
  qa: 'question-answering',
  'zero-shot': 'zero-shot-classification',
  'named-entity-recognition': 'ner',
};

/** A task by its own name, whatever it is called elsewhere; other words as they are. */
export function taskNamed(name: string): string {
  const word = name.toLowerCase();
  const named = Object.hasOwn(kOtherNames, word) ? (kOtherNames[word] as string) : word;
  return Object.hasOwn(kAliases, named) ? (kAliases[named] as string) : named;
}

/** The error for an unknown task: with the one that was probably meant, and all. */
export function unknownTask(task: unknown, known: readonly string[]): InputError {
  const near = typeof task === 'string' ? nearestOf(task.toLowerCase(), [...known, ...Object.keys(kOtherNames)]) : undefined;
  const nearest = near === undefined ? undefined : Object.hasOwn(kOtherNames, near) ? kOtherNames[near] : near;
  const hint = nearest === undefined ? '' : `; did you mean '${nearest}'?`;
  return new InputError(`pipeline: expected a task of ${known.join(', ')}, found ${describe(task)}${hint}`);
}
