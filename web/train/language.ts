// Rows of a language model: chats are rendered by the model's template, and only the assistant's answers are learned.
import { InputError } from '../core/errors.js';
import type { NamedBytes } from '../source/model_files.js';
import { renderChat } from '../tokenizer/chat_template.js';
import type { Chat } from '../tokenizer/types.js';
import type { Examples } from './rows.js';

/** The text of a chat, and begin and end of each answer in it: where the prompt before it ends, and the text with it. */
function renderAnswers(where: string, files: readonly NamedBytes[], chat: Chat): { text: string; answers: number[] } {
  const text = renderChat(files, chat, {});
  const answers: number[] = [];
  for (const [i, { role }] of chat.entries()) {
    if (role !== 'assistant') continue;
    const prompt = renderChat(files, chat.slice(0, i), { add_generation_prompt: true });
    const whole = renderChat(files, chat.slice(0, i + 1), {});
    if (!whole.startsWith(prompt) || !text.startsWith(whole)) {
      throw new InputError(
        `${where}: the chat template renders earlier messages differently when later ones follow: pass texts instead`,
      );
    }
    answers.push(prompt.length, whole.length);
  }
  if (answers.length === 0) throw new InputError(`${where}: expected a message of the assistant, found none`);
  return { text, answers };
}

/** Renders the chats of examples, if they are any. */
export async function renderExamples(where: string, examples: Examples, files: readonly NamedBytes[]): Promise<Examples> {
  const { chats } = examples;
  if (!chats) return examples;
  const rendered = await Promise.all(chats.map((chat, i) => renderAnswers(`${where}: row ${i}`, files, chat)));
  return {
    ...examples,
    columns: [rendered.map(({ text }) => text)],
    begins: rendered.map(({ answers }) => answers),
    is_rendered: true,
  };
}
