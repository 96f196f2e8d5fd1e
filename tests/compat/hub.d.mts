/** The bytes of a file of the hub. */
export function hubFile(place: string, path: string): Buffer | undefined;
export function snippets(): { title: string; output: string; code: string }[];
export const kStopped: Record<string, RegExp>;
