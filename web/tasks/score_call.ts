// `score` of a pipeline, on the caller's side: the texts of prompts and their continuations. score.ts runs beside the engine.
import { describe, InputError } from '../core/errors.js';
import { ownCopy, readOptions, type Rules } from '../core/options.js';
import type { RunningEngine } from '../engine/task.js';
import type { ScoredText, ScoreOptions } from '../generation/generation_types.js';
import { checkChat, contextOf, kChatRules, renderChat } from '../tokenizer/chat_template.js';
import type { Chat } from '../tokenizer/types.js';

const { add_generation_prompt: _add, continue_final_message: _continue, ...kTemplateRules } = kChatRules;
const kRules: Rules = { ...kTemplateRules, adapter: 'any', add_special_tokens: 'boolean', signal: 'signal' };

/** A prompt as text, and what may follow it. */
export interface ScoreItem {
  prompt: { text: string; isChat: boolean };
  continuations: string[];
}

const isTexts = (value: unknown): value is string[] => Array.isArray(value) && value.every((each) => typeof each === 'string');

/** Whether prompts are several, of which each has its own continuations. */
const isList = (prompts: unknown): prompts is unknown[] =>
  Array.isArray(prompts) && (typeof prompts[0] === 'string' || Array.isArray(prompts[0]));

export async function scoreOf(
  engine: RunningEngine,
  prompts?: unknown,
  continuations?: unknown,
  given?: unknown,
): Promise<unknown> {
  const { signal, adapter, add_special_tokens, chat_template, tools, documents, chat_template_kwargs } = readOptions(
    'score',
    given,
    kRules,
  ) as ScoreOptions;
  const several = isList(prompts);
  const list = several ? prompts : [prompts];
  const lists: unknown[] =
    several && !isTexts(continuations) && Array.isArray(continuations) ? continuations : list.map(() => continuations);
  if (lists.length !== list.length) {
    throw new InputError(`score: expected a list of continuations for each of ${list.length} prompts, found ${lists.length}`);
  }
  const templates = engine.chatTemplates?.();
  const context = templates === undefined ? undefined : { ...contextOf(engine.files), templates };
  const items = await Promise.all(
    list.map(async (prompt, i): Promise<ScoreItem> => {
      const own = lists[i];
      if (!isTexts(own)) throw new InputError(`score: continuations: expected a list of texts, found ${describe(own)}`);
      if (typeof prompt === 'string') return { prompt: { text: prompt, isChat: false }, continuations: [...own] };
      checkChat('score', prompt);
      const options = ownCopy({ chat_template, tools, documents, chat_template_kwargs, add_generation_prompt: true });
      return {
        prompt: { text: await renderChat(engine.files, prompt as Chat, options, context), isChat: true },
        continuations: [...own],
      };
    }),
  );
  const options = { adapter: adapter ?? engine.adapters?.active, ...(add_special_tokens != null && { add_special_tokens }) };
  const scored = (await engine.run('score', items, ownCopy(options), signal ?? undefined)) as ScoredText[][];
  return several ? scored : scored[0];
}
