// The tasks there are; each one's own code is loaded when it is first asked for.
import type { Task } from '../engine/task.js';

const kTasks: Record<string, () => Promise<Task>> = {
  'text-classification': async () => (await import('./text_classification.js')).textClassification,
  'zero-shot-classification': async () => (await import('./zero_shot_classification.js')).zeroShotClassification,
  'token-classification': async () => (await import('./token_classification.js')).tokenClassification,
  'question-answering': async () => (await import('./question_answering.js')).questionAnswering,
  'fill-mask': async () => (await import('./fill_mask.js')).fillMask,
  'text-generation': async () => (await import('./text_generation.js')).textGeneration,
  'text2text-generation': async () => (await import('./text2text.js')).text2text,
  translation: async () => (await import('./text2text.js')).translation,
  summarization: async () => (await import('./text2text.js')).summarization,
  'text-ranking': async () => (await import('./text_ranking.js')).textRanking,
};

export const kAliases: Record<string, string> = { 'sentiment-analysis': 'text-classification', ner: 'token-classification' };

export const kTaskNames: readonly string[] = [...Object.keys(kTasks), ...Object.keys(kAliases)];

/** What runs beside an engine as tasks do, and is no pipeline. */
const kInner: typeof kTasks = {
  'decoder-forward': async () => (await import('./decoder_forward.js')).decoderForward,
};

export async function loadTask(name: string): Promise<Task> {
  return ((kTasks[kAliases[name] ?? name] ?? kInner[name]) as () => Promise<Task>)();
}
