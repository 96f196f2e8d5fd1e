// The sentences that every panel works on.
import type { Written } from '../ui/kept.js';

export interface Sentence {
  /** Stays the same while the text is edited. */
  id: number;
  text: string;
}

/** A sentence with its vector. */
export interface Entry {
  /** Its place in the list of sentences. */
  index: number;
  text: string;
  vector: Float32Array;
}

let lastId = 0;

export const makeSentence = (text: string): Sentence => ({ id: ++lastId, text });

/** Pairs that share a meaning and hardly a word, some that share words and not the meaning, a long word for the tokenizer. */
export const exampleSentences = (): Sentence[] =>
  [
    'A kitten is asleep on the warm windowsill.',
    'The cat naps in the sun by the window.',
    'How do I reset my password?',
    'I forgot my login and cannot get into my account.',
    'She sat on the bank of the river and watched the boats.',
    'The bank raised its interest rates again this spring.',
    'Photosynthesis turns sunlight, water and carbon dioxide into sugar.',
  ].map(makeSentence);

/** Pasted lines become sentences of their own. */
export const splitLines = (text: string): string[] => text.split(/\r?\n/).filter((line) => line.trim() !== '');

export const isEmpty = ({ text }: Sentence) => text.trim() === '';

/** In addresses, a line each. */
export const asLines: Written<Sentence[]> = {
  write: (sentences) => sentences.map(({ text }) => text.replace(/\s+/g, ' ')).join('\n'),
  read: (text) => text.split('\n').map(makeSentence),
};
