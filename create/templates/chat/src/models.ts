/** A model to choose. size: what is downloaded, as it is shown. */
export interface Choice {
  id: string;
  name: string;
  size: string;
}

/** Any decoder of the Hub that wattn runs and that has a chat template can stand here. */
export const kChoices: [Choice, ...Choice[]] = [
  { id: 'HuggingFaceTB/SmolLM2-135M-Instruct', name: 'SmolLM2 135M', size: '269 MB, fastest' },
  { id: 'HuggingFaceTB/SmolLM2-360M-Instruct', name: 'SmolLM2 360M', size: '724 MB' },
  { id: 'Qwen/Qwen2.5-0.5B-Instruct', name: 'Qwen2.5 0.5B', size: '988 MB, several languages' },
];

/** What the model is told before every chat; '' for nothing. */
export const kInstruction: string = 'You are a helpful assistant. Answer briefly.';

/** How an answer is made. */
export const kAnswer = { max_new_tokens: 400, do_sample: true, temperature: 0.6, top_p: 0.9, repetition_penalty: 1.1 };

/** How much of a chat the model reads again with each message, in characters: about four are a token, and these models read 4096 tokens, the answer's included. */
export const kMemory = 8000;
