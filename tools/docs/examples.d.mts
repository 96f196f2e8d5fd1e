/** A block of js in a guide. */
export interface Block {
  code: string;
  runs: boolean;
  page: boolean;
  needs: number[];
}
export const kGroups: Record<string, string[]>;
export const kOrder: string[];
export const kFolders: Record<string, string>;
export function blocksOf(markdown: string): Block[];
export function moduleOf(codes: string[], between?: (i: number) => string): string;
export function withResults(code: string, call: string): string;
