export function thousandSentences(): string[];
export function hashOfVectors(numbers: Float32Array): Promise<string>;
export const kPublished: Readonly<Record<'f32' | 'q16' | 'q8', string>>;
