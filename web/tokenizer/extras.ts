// What is loaded beside a tokenizer, because it is seldom used and yet answers at once.
export { again } from '../core/habits.js';
export { chatMethods } from './chat_methods.js';
export { cutText } from './chunk.js';
export { toCodePoints } from './code_points.js';
export { makeDecodeStream } from './decode_stream.js';
export { LookUps } from './look_ups.js';
export { savingMethods } from './saving.js';
export { truncateTo } from './truncate_to.js';
export { ggufTokenizerFiles } from '../source/gguf_header.js';
