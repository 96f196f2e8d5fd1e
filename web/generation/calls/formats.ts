// The formats of calls, in the order in which they are looked for, and the marks of reasoning.
import { functionGemma, gemma4 } from './gemma.js';
import { granite } from './granite.js';
import { hermes } from './hermes.js';
import { lfm2 } from './lfm2.js';
import { llama } from './llama.js';
import { mistral } from './mistral.js';
import { qwenXml } from './qwen_xml.js';
import { smollm3 } from './smollm3.js';
import type { CallFormat } from './types.js';

/** The first that fits. Formats whose marks others have too come later. */
export const kFormats: readonly CallFormat[] = [lfm2, functionGemma, gemma4, mistral, smollm3, qwenXml, granite, hermes, llama];

/** What is around the reasoning that comes before an answer. */
export interface ReasoningMarks {
  open: string;
  close: string;
}

/** DeepSeek, Qwen, SmolLM3, LFM2 and most others; Magistral; Gemma 4; Cohere; Seed; Granite 3.2. */
export const kReasoning: readonly ReasoningMarks[] = [
  { open: '<think>', close: '</think>' },
  { open: '[THINK]', close: '[/THINK]' },
  { open: '<|channel>thought\n', close: '<channel|>' },
  { open: '<|START_THINKING|>', close: '<|END_THINKING|>' },
  { open: '<seed:think>', close: '</seed:think>' },
  { open: 'Here is my thought process:', close: 'Here is my response:' },
];
