// What CommonJS gets from each entry: one file, so that all of them share their state.
export * from './index.js';
export { Trainer } from '../train/trainer.js';
export { loadCounter } from '../tokenizer/counter.js';
export { wattn } from './ai_sdk_entry.js';
export { WattnEmbeddings, WattnTextSplitter } from './langchain_entry.js';
export { WattnEmbedding } from './llamaindex_entry.js';
