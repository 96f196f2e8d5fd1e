/** See ask.mjs. */
export interface Question {
  question: string;
  guides: { name: string; heading: string | undefined }[];
  source: string | undefined;
}
/** See ask.mjs. */
export const questions: Question[];
/** See ask.mjs. */
export function askAll(): Promise<(Question & { place: number; titles: string[] })[]>;
