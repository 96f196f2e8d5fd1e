/** See ask.mjs. */
export function askAll(): Promise<{ question: string; names: string; place: number; titles: string[] }[]>;
