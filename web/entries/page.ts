// What most pages import. index only passes on this file and api.ts. With exports of its own, esbuild would count all that api.ts imports among the
// files of each page, as far as a part that is loaded later shares it.
export * from './common.js';
export { pipeline } from '../tasks/pipeline.js';
export { AutoTokenizer } from '../tokenizer/tokenizer.js';
