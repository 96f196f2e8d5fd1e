export function answersOf(wattn: object, read: (path: string) => Promise<Uint8Array>): Promise<Record<string, string>>;
