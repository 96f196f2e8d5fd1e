export function differences(tokenizer: unknown, row: any): unknown[];
