// What completion offers after an option.
import { kTaskNames } from './help_tasks.js';

/** Values of options that have few; `command option` where a command has its own. */
export const kValues: Readonly<Record<string, string>> = {
  dtype: 'f32 f16 q16 q8 q4',
  'pack dtype': 'f32 f16 q8 q4 mixed native',
  task: kTaskNames.join(' '),
  'run task':
    'text-classification sentiment-analysis token-classification ner question-answering fill-mask zero-shot-classification zero-shot-ner information-extraction sparse-encoding',
  'redact task': 'zero-shot-ner token-classification',
  'generate task': 'text-generation text2text-generation translation summarization',
  'doctor task':
    'feature-extraction fill-mask text-classification token-classification text2text-generation text-generation zero-shot-ner zero-shot-classification information-extraction',
  'serve task': 'feature-extraction sparse-encoding text-classification text-generation',
  'train task': 'text-classification token-classification text-generation text2text-generation feature-extraction',
  'distill pooling': 'mean first last pooler',
  'distill quantize-to': 'float16 float32 int8',
  'redact format': 'text html json csv',
  'evaluate task': 'sts retrieval classification clustering',
  precision: 'exact fast',
  prefer: 'packed',
  input: 'auto text json',
  'on-overflow': 'truncate error',
  pooling: 'none mean cls max mean_sqrt_len_tokens weightedmean lasttoken',
  function: 'softmax sigmoid none',
  offsets: 'utf16 codepoint',
  'tokenize train': 'wordpiece bpe unigram word char',
  'kv-cache-dtype': 'f32 q8',
  vectors: 'int8 binary float32',
  mode: 'hybrid words meaning',
  syntax: 'auto always never',
  similarity: 'cosine dot euclidean manhattan',
};
