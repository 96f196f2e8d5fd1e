// What the page and the small model agree on: its options, and how it splits text.

export interface SmallOptions {
  level: 'words' | 'characters';
  steps: number;
  seed: number;
}

export const kSmall: SmallOptions = { level: 'words', steps: 240, seed: 1 };

export function splitText(text: string, level: SmallOptions['level']): string[] {
  return level === 'words' ? (text.match(/[\p{L}\p{M}\p{N}_]+(?:['’-][\p{L}\p{M}\p{N}_]+)*|[^\s]/gu) ?? []) : [...text];
}
