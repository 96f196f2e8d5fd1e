// All tasks. The code of each is loaded when it is first used.
import { useTasks, type Task } from '../engine/task.js';
import { kAliases } from './aliases.js';

const kTasks: Record<string, () => Promise<Task>> = {
  'text-classification': async () => (await import('./text_classification.js')).textClassification,
  'zero-shot-classification': async () => (await import('./zero_shot_classification.js')).zeroShotClassification,
  'token-classification': async () => (await import('./token_classification.js')).tokenClassification,
  'zero-shot-ner': async () => (await import('./zero_shot_ner.js')).zeroShotNer,
  'information-extraction': async () => (await import('./information_extraction.js')).informationExtraction,
  'question-answering': async () => (await import('./question_answering.js')).questionAnswering,
  'fill-mask': async () => (await import('./fill_mask.js')).fillMask,
  'text-generation': async () => (await import('./text_generation.js')).textGeneration,
  'text2text-generation': async () => (await import('./text2text.js')).text2text,
  translation: async () => (await import('./text2text.js')).translation,
  summarization: async () => (await import('./text2text.js')).summarization,
  'text-ranking': async () => (await import('./text_ranking.js')).textRanking,
  'late-interaction': async () => (await import('./late_interaction.js')).lateInteraction,
  'sparse-encoding': async () => (await import('./sparse_encoding.js')).sparseEncoding,
};

export const kTaskNames: readonly string[] = [...Object.keys(kTasks), ...Object.keys(kAliases)];

/** Tasks without a pipeline. */
const kInner: typeof kTasks = {
  score: async () => (await import('./score.js')).scoreTexts,
  generate: async () => (await import('./generate_ids.js')).generateIds,
  forward: async () => (await import('./forward.js')).forward,
  explain: async () => (await import('./explain_task.js')).explainText,
  input_gradient: async () => (await import('./input_gradient.js')).inputGradient,
  save_prefix: async () => (await import('./prefixes.js')).savePrefix,
  load_prefix: async () => (await import('./prefixes.js')).loadPrefix,
  release_prefix: async () => (await import('./prefixes.js')).releasePrefix,
  chunk: async () => (await import('./chunk.js')).chunk,
};

export async function loadTask(name: string): Promise<Task> {
  return ((kTasks[kAliases[name] ?? name] ?? kInner[name]) as () => Promise<Task>)();
}

useTasks(loadTask);
