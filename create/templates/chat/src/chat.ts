// Loads a model, and streams an answer.
import * as jinja from '@huggingface/jinja';
import { env, pipeline } from 'wattn';
import { kAnswer, kInstruction, kMemory } from './models.js';

env.jinja = jinja; // chat templates are written in Jinja

export interface Message {
  role: 'user' | 'assistant';
  content: string;
}

/** A loaded model. */
export interface Model {
  /** Streams the answer to a chat in pieces. */
  answer(chat: Message[], signal: AbortSignal): AsyncIterable<string>;
  /** Frees its memory. */
  dispose(): Promise<void>;
}

/** The most recent part of a chat that fits: whole turns, each starting with a user's message. The last turn is always included. */
function remembered(chat: Message[]): Message[] {
  let left = kMemory;
  let from = chat.length - 1;
  for (let i = chat.length - 1; i >= 0; --i) {
    left -= chat[i]!.content.length;
    if (left < 0) break;
    if (chat[i]!.role === 'user') from = i;
  }
  return chat.slice(from);
}

/** tell: called with the bytes loaded so far and in total. */
export async function loadModel(id: string, signal: AbortSignal, tell: (loaded: number, total: number) => void): Promise<Model> {
  const generate = await pipeline('text-generation', id, {
    worker: true,
    dtype: 'q8',
    signal,
    progress_callback: (info) => {
      if (info.status === 'progress') tell(info.loaded, info.total);
    },
  });
  const before = kInstruction === '' ? [] : [{ role: 'system', content: kInstruction }];
  return {
    answer: (chat, signal) => generate.stream([...before, ...remembered(chat)], { ...kAnswer, signal }),
    dispose: async () => generate.dispose(),
  };
}
