/** A model in the list. size: the download size, as shown. */
export interface Choice {
  id: string;
  name: string;
  size: string;
}

/** You can add any decoder on the Hub that wattn supports and that has a chat template. */
export const kChoices: [Choice, ...Choice[]] = [
  { id: 'HuggingFaceTB/SmolLM2-135M-Instruct', name: 'SmolLM2 135M', size: '269 MB, fastest' },
  { id: 'HuggingFaceTB/SmolLM2-360M-Instruct', name: 'SmolLM2 360M', size: '724 MB' },
  { id: 'Qwen/Qwen2.5-0.5B-Instruct', name: 'Qwen2.5 0.5B', size: '988 MB, several languages' },
];

/** The system prompt of every chat; '' for none. */
export const kInstruction: string = 'You are a helpful assistant. Answer briefly.';

/** Generation settings. */
export const kAnswer = { max_new_tokens: 400, do_sample: true, temperature: 0.6, top_p: 0.9, repetition_penalty: 1.1 };

/** How many characters of the chat the model reads with each message. A token is about four characters, and these models read 4096 tokens, including the answer. */
export const kMemory = 8000;
