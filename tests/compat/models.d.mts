export const kArguments: Record<string, string>;
export function writeModels(goldens: string, place: string): void;
export function withImport(file: string, name: string): string;
